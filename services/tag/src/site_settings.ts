import { askFor } from './ask.ts';
import { sleep } from './outbox.ts';
import { waitMs } from './send_rules.ts';
import type { SiteConfig } from './types.ts';

/** Asks for the site's configuration until the edge answers; undefined where it refuses the key or the page's origin. */
export const askConfig = async (url: string): Promise<SiteConfig | undefined> => {
  for (let failures = 1; ; failures++) {
    const { answer_, told_ } = await askFor<SiteConfig>('mode', url);
    if (told_) return told_.error ? undefined : told_;
    await sleep(waitMs(failures, Math.random(), answer_?.headers.get('retry-after')));
  }
};
