import { replaceModule } from '../replace.ts';

replaceModule('infra/clickhouse/client.ts', new URL('./client.ts', import.meta.url));
