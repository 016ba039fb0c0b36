import type { BlockInfo } from "../../src/rpc/blocks.js";

/** The source of a document's values. */
export interface Envelope {
  readonly network: string;
  readonly chainId: number;
  readonly block: BlockInfo;
}

export type Tone = "good" | "bad" | "warn" | "dim";

export interface Cell {
  /** Text from the chain in it is escaped already. */
  readonly text: string;
  readonly tone?: Tone | undefined;
  /** Shown after or below the text, but not in a table. */
  readonly note?: string | undefined;
  /** Shown once, below all blocks. */
  readonly footnote?: string | undefined;
}

/** A plain text or a cell, for the functions below; a block has cells only. */
export type Content = string | Cell;

export type LabelledValue = readonly [label: Content, value: Content];

/** An item of a list; false, as of `isOld && "…"`, leaves it out. */
type Optional<Item> = Item | false;

export function present<Item>(items: ReadonlyArray<Optional<Item>>): Item[] {
  return items.filter((item): item is Item => item !== false);
}

export interface Table {
  readonly kind: "table";
  readonly columns: ReadonlyArray<{
    readonly heading: string;
    readonly align: "left" | "right";
  }>;
  readonly rows: ReadonlyArray<readonly Cell[]>;
}

/** A part of a screen or of the report. */
export type Block =
  | {
      readonly kind: "heading";
      /** 1: the document, 2: a chapter, 3: a section. */
      readonly level: 1 | 2 | 3;
      readonly text: string;
      readonly envelope?: Envelope | undefined;
    }
  | {
      readonly kind: "values";
      readonly rows: ReadonlyArray<readonly [label: Cell, value: Cell]>;
    }
  | Table
  | { readonly kind: "notes"; readonly rows: ReadonlyArray<readonly [Cell]> }
  /** For a program: neither wrapped nor coloured. */
  | { readonly kind: "code"; readonly text: string };

export function title(text: string, envelope?: Envelope): Block {
  return { kind: "heading", level: 1, text, envelope };
}

export function chapter(text: string): Block {
  return { kind: "heading", level: 2, text };
}

export function labelledValues(
  values: ReadonlyArray<Optional<LabelledValue>>,
): Block {
  const rows = present(values).map(
    ([label, value]) => [toCell(label), toCell(value)] as const,
  );
  return { kind: "values", rows };
}

/** Aligns columns of numbers to the right. */
export function table(
  headings: readonly string[],
  contents: ReadonlyArray<readonly Content[]>,
): Table {
  const rows = contents.map((row) => row.map(toCell));
  const columns = headings.map((heading, column) => {
    const isNumber = rows.some((row) =>
      /^\d(?!x)/u.test(row[column]?.text ?? ""),
    );
    return { heading, align: isNumber ? "right" : "left" } as const;
  });
  return { kind: "table", columns, rows };
}

export function notes(...contents: ReadonlyArray<Optional<Content>>): Block {
  const rows = present(contents).map((note) => [toCell(note)] as const);
  return { kind: "notes", rows };
}

export function code(text: string): Block {
  return { kind: "code", text };
}

/** A heading and its block; nothing if the block is empty. */
export function section(text: string, block: Block): readonly Block[] {
  return isEmpty(block) ? [] : [{ kind: "heading", level: 3, text }, block];
}

export function toned(tone: Tone, text: string, note?: string): Cell {
  return { text, tone, note };
}

function toCell(content: Content): Cell {
  return typeof content === "string" ? { text: content } : content;
}

export function footnotesOf(blocks: readonly Block[]): Block {
  const texts = blocks
    .flatMap((block) => ("rows" in block ? block.rows.flat() : []))
    .flatMap(({ footnote }) => footnote ?? []);
  return notes(...[...new Set(texts)].map((text) => toned("dim", text)));
}

export function isEmpty(block: Block): boolean {
  return "rows" in block && block.rows.length === 0;
}
