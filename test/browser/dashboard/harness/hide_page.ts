import type { Page } from 'playwright-core';

/** Lets a page believe that it is hidden, or shown again: a driven browser shows all its tabs. */
export function setHidden(page: Page, isHidden: boolean): Promise<void> {
  return page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { get: () => value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
}
