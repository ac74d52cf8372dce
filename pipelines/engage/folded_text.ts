import { plainText } from '#pipelines/privacy/plain_text.ts';
import { EVERYTHING } from '#pipelines/privacy/scan_text.ts';

const LOOKS_LATIN = 'аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmнhтtвbαaοoρpνvιiκkτtυuχxεeηn';
/** Letters of Cyrillic and Greek that look like one of Latin. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  Array.from({ length: LOOKS_LATIN.length / 2 }, (_, at) => [
    LOOKS_LATIN.charAt(at * 2),
    LOOKS_LATIN.charAt(at * 2 + 1),
  ]),
);
const LOOK_ALIKE = new RegExp(`[${[...LOOK_ALIKES.keys()].join('')}]`, 'g');
const BETWEEN_WORDS = /[^\p{L}\p{N}]+/gu;
/** Fewer letters and figures tell nothing. */
const CHARACTERS_MIN = 10;

/** A text without what shows nothing and what only looks otherwise: the same for all that people read as the same text. */
export function readableText(text: string): string {
  return plainText(text, EVERYTHING);
}

/**
 * What stays of a text that is sent again with small changes: its letters and figures alone, of one case and without
 * accents, and look-alikes as what they look like. Figures tell texts of people apart, as they ask for four chairs or six.
 */
export function coreOfText(text: string): string {
  const readable = readableText(text).toLowerCase();
  const core = readable
    .normalize('NFD')
    .replaceAll(BETWEEN_WORDS, '')
    .replaceAll(LOOK_ALIKE, (letter) => LOOK_ALIKES.get(letter) ?? letter);
  return core.length < CHARACTERS_MIN ? readable.replaceAll(/\s+/g, ' ').trim() : core;
}
