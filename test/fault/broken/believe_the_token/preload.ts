import { replaceModule } from '../replace.ts';

replaceModule('infra/clickhouse/insert_again.ts', new URL('./insert_again.ts', import.meta.url));
