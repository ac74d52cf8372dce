/** Up to here a screen's shorter side is a phone's, in CSS pixels. */
const PHONE_PIXELS_MAX = 600;

const languageIn = (tag: string): string => tag.split('-')[0]?.toLowerCase() ?? '';

/**
 * The language that a visitor is shown: that of the page, which they read, with the region of the browser's where that
 * speaks the same; the browser's where the page says none.
 */
export function localeOf(page: string, browser: string): string {
  if (!/^[a-z]{2,3}(-|$)/i.test(page)) return browser;
  return page.includes('-') || languageIn(page) !== languageIn(browser) ? page : browser;
}

/** The region that the browser's language names; undefined: none. */
export const countryOf = (browser: string): string | undefined => /-([A-Z]{2})\b/.exec(browser)?.[1];

/** @param shorterSide of the screen, in CSS pixels. */
export function deviceOf(isTouched: boolean, shorterSide: number): 'mobile' | 'tablet' | 'desktop' {
  if (!isTouched) return 'desktop';
  return shorterSide < PHONE_PIXELS_MAX ? 'mobile' : 'tablet';
}
