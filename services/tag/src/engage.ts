import { handOver } from './part_script.ts';
import type { EngageHost } from './types.ts';
import { watchVitals } from './web_vitals.ts';

/** Starts what the site's configuration asks for beside measuring. */
function startEngage({ config, track }: EngageHost): void {
  if (config.tag?.web_vitals) watchVitals((vitals) => track('$web_vitals', { ...vitals }));
}

handOver(startEngage);
