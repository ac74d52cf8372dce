import { replaceModule } from '../replace.ts';

replaceModule('infra/redis/script.ts', new URL('./script.ts', import.meta.url));
