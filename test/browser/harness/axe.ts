import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

interface AxeResults {
  violations: { id: string; nodes: { target: string[]; failureSummary?: string }[] }[];
}

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe-core finds on a page, as `rule: element: why`. It comes in by the browser's tools, whatever the page's policy. */
export async function axeViolations(page: Page): Promise<string[]> {
  // An answer that another is about to replace is dimmed for as long.
  await page.locator('.old').first().waitFor({ state: 'detached' });
  await page.evaluate(endOfTransitions);
  await page.evaluate(`void (() => { ${AXE} })()`);
  return page.evaluate(async (values) => {
    const axe = (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe;
    const { violations } = await axe.run({ runOnly: { type: 'tag', values } });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary = '' }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
    );
  }, LEVELS);
}

/** Colours that are on their way from light to dark have a contrast that nobody is to read by. */
async function endOfTransitions(): Promise<void> {
  const underWay = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
  await Promise.allSettled(underWay.map(({ finished }) => finished));
}
