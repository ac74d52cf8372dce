import { matchesUrl } from '#pipelines/settings/url_pattern.ts';

interface TrustedPolicy {
  createHTML(text: string): string;
}

interface TrustedTypes {
  createPolicy(name: string, rules: TrustedPolicy): TrustedPolicy;
}

/**
 * What this policy makes is parsed into a document of its own, which is never shown: scripts in it do not run and nothing
 * in it is loaded. It is the only one that the page's Content-Security-Policy allows.
 */
const POLICY = 'inert-html';
let policy: TrustedPolicy | null = null;

function trusted(text: string): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (types === undefined) return text;
  policy ??= types.createPolicy(POLICY, { createHTML: (html) => html });
  return policy.createHTML(text);
}

/** The elements of a page that a definition is about; null where the selector is none. */
export interface Matched {
  count: number;
  /** Of the first ones, the begin of their HTML. */
  samples: readonly string[];
}

const SAMPLES_MAX = 5;
const SAMPLE_CHARACTERS_MAX = 160;

/** Looks for a selector, and a text in what it finds, in the HTML of a page. */
export function matchIn(html: string, selector: string, text: string): Matched | null {
  const page = new DOMParser().parseFromString(trusted(html), 'text/html');
  const wanted = text.trim().toLowerCase();
  try {
    const found = [...page.querySelectorAll(selector === '' ? 'body' : selector)].filter((element) =>
      (element.textContent ?? '').replaceAll(/\s+/g, ' ').toLowerCase().includes(wanted),
    );
    const samples = found.slice(0, SAMPLES_MAX).map(({ outerHTML }) => outerHTML.slice(0, SAMPLE_CHARACTERS_MAX));
    return { count: found.length, samples };
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}

/** Whether each of some addresses matches a pattern, as the tag does it; an empty pattern is every page. */
export const addressesMatched = (pattern: string, addresses: readonly string[]) =>
  addresses.map((address) => ({ address, matches: pattern.trim() === '' || matchesUrl(pattern, address) }));
