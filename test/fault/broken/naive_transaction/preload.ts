import { replaceModule } from '../replace.ts';

replaceModule('infra/kafka/transactional_stage/transactional_stage.ts', new URL('./hop.ts', import.meta.url));
