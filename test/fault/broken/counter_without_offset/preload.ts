import { replaceModule } from '../replace.ts';

replaceModule('infra/redis/lua_script.ts', new URL('./script.ts', import.meta.url));
