import { replaceModule } from '../replace.ts';

replaceModule('pipelines/dedup/dedup.ts', new URL('./claim.ts', import.meta.url));
