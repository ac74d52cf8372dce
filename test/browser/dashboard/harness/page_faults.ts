import type { Page } from 'playwright-core';

/** Collects errors of scripts and violations of the page's policy from the page's beginning on. */
export async function watchFaults(page: Page): Promise<string[]> {
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  await page.exposeFunction('reportFault', (fault: string) => faults.push(fault));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const report = (globalThis as unknown as { reportFault(fault: string): void }).reportFault;
      report(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`);
    });
  });
  return faults;
}
