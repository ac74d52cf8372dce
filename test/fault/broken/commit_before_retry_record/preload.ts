import { replaceModule } from '../replace.ts';

replaceModule('infra/kafka/hop.ts', new URL('./hop.ts', import.meta.url));
