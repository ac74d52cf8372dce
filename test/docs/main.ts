import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { DEPLOY_FILES } from '#test/deploy/files.ts';
import { withTables } from './configuration_page.ts';
import { flowDashboard } from './flow_dashboard.ts';
import { RIGHTS_FILES } from './rights_files.ts';

/**
 * `npm run docs:configuration`: writes the tables of docs/configuration.md anew, the files of docs/rights, the dashboard, and those of
 * deploy/ that are generated.
 */
const DOCS = new URL('../../docs/', import.meta.url);
const DEPLOY = new URL('../../deploy/', import.meta.url);

const configuration = new URL('configuration.md', DOCS);
writeFileSync(configuration, withTables(readFileSync(configuration, 'utf8')));
for (const [name, text] of Object.entries(RIGHTS_FILES)) writeFileSync(new URL(`rights/${name}`, DOCS), text);
writeFileSync(new URL('../deploy/grafana/flow.json', DOCS), `${JSON.stringify(flowDashboard(), null, 2)}\n`);
for (const [path, text] of Object.entries(DEPLOY_FILES)) {
  const file = new URL(path, DEPLOY);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
}
