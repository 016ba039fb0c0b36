/** What a text is. A reader of the package reads pages, help and output. */
export type Kind = "page" | "help" | "output" | "comment";

/** The most words of a sentence. */
export const mostWords: Readonly<Record<Kind, number>> = {
  page: 35,
  comment: 35,
  output: 30,
  help: 22,
};

export interface Rule {
  readonly name: string;
  readonly pattern: RegExp;
  /** What to write instead. */
  readonly advice: string;
  /** Sentences that it warns of. */
  readonly examples: readonly string[];
  /** All unless given. */
  readonly kinds?: readonly Kind[];
}

function useInstead(
  name: string,
  better: string,
  ...refused: readonly string[]
): Rule {
  const words = refused.join("|").replaceAll(".", "\\.");
  const pattern = new RegExp(`\\b(?:${words})\\b`, "iu");
  return { name, pattern, advice: `write ${better}`, examples: refused };
}

export const rules: readonly Rule[] = [
  useInstead("anew", "again", "anew"),
  useInstead("mend", "fix or correct", "mend", "mends", "mended", "mending"),
  useInstead(
    "beside",
    "next to, with, also or compared with",
    ...["beside", "besides"],
  ),
  useInstead("so-many", "this many", "so many"),
  useInstead(
    "dated-word",
    "a modern word",
    ...["hence", "thus", "thereof", "upon", "shall"],
  ),
  useInstead(
    "ever-word",
    "any, each or if",
    ...["whoever", "whatever", "whichever", "wherever"],
  ),
  useInstead("unscaled", "unscaled", "on the wire"),
  useInstead("retry", "retry", "ask again", "asks again", "asked again"),
  useInstead("simulate", "simulate", "rehearse", "rehearses", "rehearsal"),
  useInstead("default", "Default: …", "unless given"),
  useInstead("to", "to", "in order to"),
  useInstead("latin", "for example, or that is", "e.g", "i.e", "etc"),
  useInstead(
    "except",
    "except, only or without",
    ...["but for", "nothing but", "none but"],
  ),
  useInstead(
    "filler",
    "nothing",
    ...["simply", "obviously", "of course", "merely"],
  ),
  {
    name: "clause-first",
    pattern:
      /(?:^|: )(?:(?:What|Whether|How|Where|Who|Why|Which|Whose)\b(?![^.]*\?)|That (?:an?|another|no|the)\b)/u,
    advice: "begin with the actor or the thing, not with a clause",
    examples: ["Look: What it did is done.", "That the fee is paid is final."],
  },
  {
    name: "that-of",
    pattern:
      /\bof (?:it|that|those) of\b|\bth(?:at|ose) of\b.*\bth(?:at|ose) of\b/u,
    advice: "name the thing again",
    examples: ["The gas is that of the call, and the fee that of the block."],
  },
  {
    name: "no-person",
    pattern:
      /(?<!\b(?:[Yy]ou|owner|have to) )\b(?:says?|said|tells?|told|knows?|knew|wants?|wanted|thinks?|thought|forgets?|learns?)\b/u,
    advice: 'a program is no person: it "returns", "prints", "names", "needs"',
    examples: ["The node says that it is busy.", "It knows no block."],
  },
  {
    name: "where",
    pattern: /(?<!\{)\bwhere\b(?!\})/iu,
    advice: 'write "if", or name the place',
    examples: ["Deploy to a live network, where it costs money."],
    kinds: ["output", "help"],
  },
  {
    name: "not-in-package",
    pattern: /§|\b(?:design|protocol|simpler|style)\.md\b/u,
    advice: "cite what the package has, for example IVault.calMargins",
    examples: ["As in § 4.", "As in protocol.md."],
  },
];

/** A sentence that a rule warns of. */
export interface Warning {
  readonly rule: string;
  readonly advice: string;
  readonly sentence: string;
}

/** Checks the sentences of a text; a link or code counts as one word. */
export function warningsOf(kind: Kind, text: string): readonly Warning[] {
  const sentences = text
    .replaceAll(/`[^`]*`/gu, "CODE")
    .replaceAll(/\]\([^)]*\)/gu, "]")
    .replaceAll(/\{@link ([^}|]*)[^}]*\}/gu, "$1")
    .replaceAll(/\s+/gu, " ")
    .split(/(?<=[.!?;]\**) /u);
  return sentences.flatMap((sentence) => {
    const words = sentence.match(/\p{L}\S*/gu)?.length ?? 0;
    const found = rules.filter(
      ({ kinds = [kind], pattern }) =>
        kinds.includes(kind) && pattern.test(sentence),
    );
    const long =
      words > mostWords[kind]
        ? [{ name: "long-sentence", advice: `${words} words: make two` }]
        : [];
    return [...found, ...long].map(({ name, advice }) => ({
      rule: name,
      advice,
      sentence,
    }));
  });
}
