import type { Page } from 'playwright-core';

/** Keeps from now on every text that the page draws on a canvas. @returns what reads them. */
export async function watchDrawnTexts(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    const drawn: string[] = [];
    Object.assign(window, { drawn });
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place): void {
      drawn.push(text);
      fillText.call(this, text, ...place);
    };
  });
  return () => page.evaluate(() => (window as unknown as { drawn: string[] }).drawn);
}
