import { ask } from './ask.ts';
import { listen } from './guarded.ts';
import { isForLater, waitMs } from './send_rules.ts';
import type { SiteConfig } from './types.ts';

/** Asks for the site's configuration until the edge answers; undefined where it refuses the key or the page's origin. */
export async function askConfig(url: string): Promise<SiteConfig | undefined> {
  let askAgain: ((value?: unknown) => void) | undefined;
  listen(window, 'online', () => askAgain?.());
  for (let failures = 1; ; failures++) {
    const answer = await ask(url).catch(() => undefined);
    if (answer && !isForLater(answer.status)) {
      if (!answer.ok) return undefined;
      const config: SiteConfig | undefined = await answer.json().catch(() => undefined);
      if (config) return config;
    }
    await new Promise((resolve) => {
      askAgain = resolve;
      setTimeout(resolve, waitMs(failures, Math.random(), answer?.headers.get('retry-after')));
    });
  }
}
