import xterm from "@xterm/headless";

/** Colours of a theme; those of the palette by their number in a terminal. */
interface Theme {
  readonly background: string;
  readonly text: string;
  readonly dim: string;
  readonly palette: Readonly<Record<number, string>>;
}

export const themes: Readonly<Record<"dark" | "light", Theme>> = {
  dark: {
    background: "#0d1117",
    text: "#e6edf3",
    dim: "#8b949e",
    palette: { 1: "#f85149", 2: "#3fb950", 3: "#d29922" },
  },
  light: {
    background: "#ffffff",
    text: "#1f2328",
    dim: "#656d76",
    palette: { 1: "#cf222e", 2: "#1a7f37", 3: "#9a6700" },
  },
};

const COLUMN = 8.4;
const ROW = 18;
const MARGIN = 16;

/** Draws what a terminal of that width shows after this output, as SVG. */
export async function drawTerminal(
  output: string,
  columns: number,
  title: string,
  theme: Theme,
): Promise<string> {
  const rows = await readRows(output, columns, theme);
  const width = Math.ceil(columns * COLUMN + 2 * MARGIN);
  const height = rows.length * ROW + 2 * MARGIN;
  const lines = rows.map(
    (spans, row) =>
      `<text y="${MARGIN + (row + 0.75) * ROW}">${spans.join("")}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>${escapeXml(title)}</title>
<rect width="100%" height="100%" rx="8" fill="${theme.background}"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="${theme.text}" xml:space="preserve">
${lines.join("\n")}
</g>
</svg>
`;
}

/** The rows of the screen, each as the `tspan`s of its words. */
async function readRows(
  output: string,
  columns: number,
  theme: Theme,
): Promise<ReadonlyArray<readonly string[]>> {
  const screen = new xterm.Terminal({
    cols: columns,
    rows: 50,
    scrollback: 1_000,
    allowProposedApi: true,
    convertEol: true,
  });
  await new Promise<void>((resolve) => {
    screen.write(output, resolve);
  });
  const { active } = screen.buffer;
  const rows = Array.from({ length: active.length }, (_, row) => {
    const line = active.getLine(row);
    const text = line?.translateToString(true) ?? "";
    // Words by themselves, so that columns stay in line in any font.
    return [...text.matchAll(/\S+(?: \S+)*/gu)].map(({ 0: words, index }) => {
      const cell = line?.getCell(index);
      const colour =
        (cell?.isDim() ?? 0) !== 0
          ? theme.dim
          : (theme.palette[cell?.getFgColor() ?? -1] ?? theme.text);
      const weight = (cell?.isBold() ?? 0) !== 0 ? ' font-weight="bold"' : "";
      return `<tspan x="${(MARGIN + index * COLUMN).toFixed(1)}" fill="${colour}"${weight} textLength="${(words.length * COLUMN).toFixed(1)}">${escapeXml(words)}</tspan>`;
    });
  });
  screen.dispose();
  return rows.slice(0, rows.findLastIndex((spans) => spans.length > 0) + 1);
}

function escapeXml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
