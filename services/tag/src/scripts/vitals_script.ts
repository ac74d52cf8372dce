import { resolveBatch } from '../own_script.ts';
import type { PartHost } from '../types.ts';
import { watchVitals } from './web_vitals.ts';

resolveBatch(({ track }: PartHost) => watchVitals((vitals) => track('$web_vitals', { ...vitals })));
