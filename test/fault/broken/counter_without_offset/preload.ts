import { replaceModule } from '../replace.ts';

replaceModule('infra/redis/client.ts', new URL('./script.ts', import.meta.url));
