import type { Envelope } from "./blocks.js";
import { describeEnvelope, wrapText } from "./render-text.js";
import type { Style } from "./style.js";

export type { Envelope };

/** The same for a person. */
export function renderHeading(
  title: string,
  envelope: Envelope,
  style: Style,
): string {
  return wrapText(
    `${style.title(title)}  ${style.dim(describeEnvelope(envelope))}`,
    style,
  );
}
