import { handOver } from './own_script.ts';
import type { PartHost } from './types.ts';
import { watchVitals } from './web_vitals.ts';

handOver(({ track }: PartHost) => watchVitals((vitals) => track('$web_vitals', { ...vitals })));
