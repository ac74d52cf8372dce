// What others say of the files of deploy/, in `npm run test:outside`: Kubernetes's own schemas by kubernetes-validate, Compose's by
// check-jsonschema, a YAML parser that is not ours, and systemd. Python's packages are put into a folder of .local once. What the
// machine does not have, kubectl or systemd-analyze, is left out, and said.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { BASE } from '#test/deploy/kubernetes.ts';
import { OVERLAYS } from '#test/deploy/overlays.ts';
import { add, type BatchCounts, failed, NOTHING, summary } from '#test/harness/run/tally.ts';

const VALIDATE = '1.37.0';
const CHECK = '0.39.0';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TOOLS = `${ROOT}.local/outside/deploy-${VALIDATE}-${CHECK}`;
const KUBERNETES = ['1.30', '1.34', VALIDATE.slice(0, 4)];
const UNITS = ['svc@edge.service', 'svc-provision.service', 'svc.target'];

const scratch = mkdtempSync(join(tmpdir(), 'deploy-'));
let tally = NOTHING;

install();
for (const name of Object.keys(OVERLAYS)) ifThere('kubectl', () => overlay(name));
for (const [file, manifests] of Object.entries(BASE)) {
  tally = add(tally, sameAs(`deploy/kubernetes/base/${file}`, manifests));
}
tally = add(
  tally,
  says(
    `${TOOLS}/bin/check-jsonschema`,
    '--builtin-schema',
    'vendor.compose-spec',
    'deploy/compose.yaml',
    'infra/compose.yaml',
  ),
);
ifThere('systemd-analyze', units);
rmSync(scratch, { recursive: true });
console.log(summary(tally));
process.exit(tally.failed === 0 ? 0 : 1);

/** The pinned packages, installed if they are not there yet. */
function install(): void {
  if (existsSync(`${TOOLS}/bin/check-jsonschema`)) return;
  console.log(`installing kubernetes-validate ${VALIDATE} and check-jsonschema ${CHECK} in ${TOOLS}`);
  run('python3', '-m', 'venv', TOOLS);
  run(`${TOOLS}/bin/pip`, 'install', '--quiet', `kubernetes-validate==${VALIDATE}`, `check-jsonschema==${CHECK}`);
}

function run(command: string, ...words: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, words, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0 || error !== undefined)
    throw new Error(`${command} ${words.join(' ')}: ${error?.message ?? stdout + stderr}`);
  return stdout;
}

/** One test: that the command ends well. */
function says(command: string, ...words: string[]): BatchCounts {
  try {
    run(command, ...words);
    return { ...NOTHING, passed: 1 };
  } catch (error) {
    return failed([String(error)]);
  }
}

function ifThere(command: string, work: () => BatchCounts): void {
  if (spawnSync(command, ['--help'], { stdio: 'ignore' }).error === undefined) tally = add(tally, work());
  else console.log(`left out, as this machine has no ${command}: ${work.name || 'overlays'}`);
}

/** An overlay as Kustomize makes it; kinds of others, such as KEDA's, have no schema there. */
function overlay(name: string): BatchCounts {
  const file = join(scratch, `${name}.yaml`);
  writeFileSync(file, run('kubectl', 'kustomize', `deploy/kubernetes/overlays/${name}`));
  const versions = KUBERNETES.flatMap((version) => ['-k', version]);
  return says(`${TOOLS}/bin/kubernetes-validate`, '--strict', '--quiet', ...versions, file);
}

/** Whether another parser reads from a file what was written there. */
function sameAs(file: string, manifests: readonly object[]): BatchCounts {
  const program = 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(open(sys.argv[1]))), sys.stdout)';
  const read: unknown = JSON.parse(run(`${TOOLS}/bin/python`, '-c', program, file));
  return isDeepStrictEqual(read, manifests) ? { ...NOTHING, passed: 1 } : failed([`${file} is read as something else`]);
}

/** The units, with the folder of the repository in place of the one that they are installed in. */
function units(): BatchCounts {
  mkdirSync(join(scratch, 'units'));
  for (const unit of UNITS) {
    const text = readFileSync(`${ROOT}deploy/systemd/${unit.replace('edge', '')}`, 'utf8').replaceAll(
      '/opt/svc/',
      ROOT,
    );
    writeFileSync(join(scratch, 'units', unit.replace('edge', '')), text);
  }
  return says('systemd-analyze', 'verify', ...UNITS.map((unit) => join(scratch, 'units', unit)));
}
