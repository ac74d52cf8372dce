import { startShowing } from './engage/show_items.ts';
import { handOver } from './part_script.ts';
import type { PartHost } from './types.ts';
import { watchVitals } from './web_vitals.ts';

/** Starts what the site's configuration asks for beside measuring. */
function startEngage(host: PartHost): void {
  const { config, track } = host;
  if (config.tag?.web_vitals) watchVitals((vitals) => track('$web_vitals', { ...vitals }));
  if (config.tag?.engage) startShowing(host);
}

handOver(startEngage);
