import { replaceModule } from '../replace.ts';

replaceModule('infra/clickhouse/inserts/deduplicated_insert.ts', new URL('./insert_again.ts', import.meta.url));
