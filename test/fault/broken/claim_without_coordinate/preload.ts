import { replaceModule } from '../replace.ts';

replaceModule('pipelines/dedup/claim.ts', new URL('./claim.ts', import.meta.url));
