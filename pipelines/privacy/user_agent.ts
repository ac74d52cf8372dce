import type { Effort } from './effort.ts';
import { redactText } from './redact_text.ts';

const CHARACTERS_MAX = 1024;
const CONTROL_CHARACTERS = /\p{Cc}/gu;
const CLEAN_MAX = 2048;
/** User agents that need no cleaning: few are seen over and over, and none of these holds personal text. */
const alreadyClean = new Set<string>();

/** A user agent as it may be stored: at most 1024 characters, none of them a control, no personal text; null if empty. */
export function cleanUserAgent(text: string, effort?: Effort): string | null {
  if (alreadyClean.has(text)) return text;
  const plain = text.slice(0, CHARACTERS_MAX).replace(CONTROL_CHARACTERS, '').trim();
  const clean = redactText(plain, false, [], effort);
  if (clean === '') return null;
  if (clean === text) noteClean(text);
  return clean;
}

function noteClean(text: string): void {
  if (alreadyClean.size >= CLEAN_MAX) alreadyClean.clear();
  alreadyClean.add(text);
}
