import { replaceModule } from '../replace.ts';

replaceModule('infra/kafka/transactional_stage.ts', new URL('./transactional_stage.ts', import.meta.url));
