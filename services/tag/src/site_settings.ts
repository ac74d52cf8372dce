import { ask } from './ask.ts';
import { guarded } from './guarded.ts';
import { isForLater, waitMs } from './send_rules.ts';
import type { SiteConfig } from './types.ts';

/**
 * Asks for the site's configuration until the edge answers.
 *
 * @returns through `answered`, undefined where the edge refuses the key or the page's origin.
 */
export function askConfig(url: string, answered: (config: SiteConfig | undefined) => void, failures = 1): void {
  const later = (retryAfter: string | null): void => {
    const again = (): void => askConfig(url, answered, failures + 1);
    if (navigator.onLine === false) addEventListener('online', again, { once: true });
    else setTimeout(again, waitMs(failures, Math.random(), retryAfter));
  };
  ask(url)
    .then(async (answer) => {
      if (isForLater(answer.status)) later(answer.headers.get('retry-after'));
      else answered(answer.ok ? ((await answer.json()) as SiteConfig) : undefined);
    })
    .catch(guarded(() => later(null)));
}
