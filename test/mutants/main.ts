// What `npm run test:mutants` runs: plants one fault after the other in a copy of the sources, and sees that the tests named for it fail.
// `-- NAME…` takes only the mutants whose names hold one of the texts. Exit status 0 where every fault was found.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MUTANTS, type Mutant } from './mutants.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SHOWN = 3;

const wanted = process.argv.slice(2).filter((word) => word !== '--');
const chosen = MUTANTS.filter(({ name }) => wanted.length === 0 || wanted.some((text) => name.includes(text)));
const copy = mkdtempSync(join(tmpdir(), 'mutants-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const path of execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0')) {
  if (path === '') continue;
  mkdirSync(join(copy, dirname(path)), { recursive: true });
  cpSync(join(ROOT, path), join(copy, path));
}
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
mkdirSync(join(copy, '.local'));
symlinkSync(join(ROOT, '.local/parts'), join(copy, '.local/parts'));

const found = chosen.map(isFound).filter(Boolean).length;
console.log(`${found} passed, ${chosen.length - found} failed`);
process.exit(found === chosen.length && found > 0 ? 0 : 1);

function isFound({ name, path, before, after, tests }: Mutant): boolean {
  const source = readFileSync(join(copy, path), 'utf8');
  if (source.split(before).length !== 2) {
    console.log(`not planted: ${name} (${path} does not hold the text once)`);
    return false;
  }
  writeFileSync(
    join(copy, path),
    source.replace(before, () => after),
  );
  const { stdout } = spawnSync(process.execPath, ['test/run.ts', '--first', ...tests], { cwd: copy, encoding: 'utf8' });
  writeFileSync(join(copy, path), source);
  const failures = stdout.split('\n').filter((line) => line.startsWith('failed: ') && line.includes(' > '));
  console.log(`${failures.length > 0 ? 'found' : 'NOT FOUND'}: ${name}`);
  for (const failure of failures.slice(0, SHOWN)) console.log(`  ${failure.slice('failed: '.length)}`);
  if (failures.length > SHOWN) console.log(`  and ${failures.length - SHOWN} more`);
  return failures.length > 0;
}
