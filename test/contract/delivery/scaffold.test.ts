import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { PAGE, REGISTRY, scaffold } from '#services/cli/scaffold.ts';
import { owner } from '#services/local/parts/processes.ts';
import { abandonedFolders } from '#test/harness/run/abandoned.ts';
import { contractSuite } from './contract_suite.ts';
import type { Subject } from './subject.ts';

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));
const NAME = 'probe_2';
/** One that takes one event a request. */
const SINGLE = 'probe_single';

// Inside the project, so that its aliases hold. A run that was killed left its own.
const LOCAL = join(PROJECT, '.local');
mkdirSync(LOCAL, { recursive: true });
for (const path of abandonedFolders(LOCAL, 'scaffold-')) rmSync(path, { recursive: true, force: true });
const root = mkdtempSync(join(LOCAL, `scaffold-${owner()}.`));
afterAll(() => rmSync(root, { recursive: true, force: true }));

for (const path of [REGISTRY, PAGE]) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  cpSync(join(PROJECT, path), join(root, path));
}
const paths = scaffold(root, NAME);
scaffold(root, SINGLE);

function change(path: string, ...changes: [from: string, to: string][]): void {
  const file = join(root, path);
  const before = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    changes.reduce((text, [from, to]) => text.replace(from, to), before),
  );
  for (const [from] of changes) expect(before, `${path} has ${from}`).toContain(from);
}

/** The new files know their destination by its place in the project, which is elsewhere here. */
async function subjectOf(name: string): Promise<Subject> {
  const path = `test/contract/delivery/destinations/${name}.ts`;
  change(path, ['#pipelines/delivery/destinations/', '../../../../pipelines/delivery/destinations/']);
  return ((await import(join(root, path))) as { subject: Subject }).subject;
}

// What docs/adding-a-destination.md says of a platform that takes one event a request.
change(
  `pipelines/delivery/destinations/${SINGLE}/adapter.ts`,
  [`envelope('{"events":[', ']}')`, `envelope('', '')`],
  ['batchEventsMax: 500', 'batchEventsMax: 1'],
);
change(
  `test/contract/delivery/destinations/${SINGLE}.ts`,
  [`Array.isArray(body['events']) ? body['events'] : null`, '[body]'],
  ['eventsMax: 500', 'eventsMax: 1'],
);
change(`test/contract/delivery/destinations/${SINGLE}_cases.ts`, [
  `caseBuilder((form) => ({ events: [form] }), 'events[0]')`,
  `caseBuilder((form) => form, '')`,
]);

contractSuite(await subjectOf(NAME));
const single = await subjectOf(SINGLE);
contractSuite(single);

describe('cases of a platform that takes one event a request', () => {
  it('say what is not sent by its place in the body', () => {
    const absent = single.cases.flatMap(({ expected }) => ('without' in expected ? (expected.without ?? []) : []));
    expect(absent).toEqual(expect.arrayContaining(['user.email', 'value', 'currency']));
  });
});

describe('the scaffold', () => {
  it('touches nothing but the folder, the cases, the registry and the docs', () => {
    expect(paths.map((path) => path.replaceAll(NAME, 'NAME'))).toEqual([
      'pipelines/delivery/destinations/NAME/map.ts',
      'pipelines/delivery/destinations/NAME/adapter.ts',
      'test/contract/delivery/destinations/NAME.ts',
      'test/contract/delivery/destinations/NAME_cases.ts',
      'test/contract/delivery/destinations/NAME_answers.ts',
      'pipelines/delivery/registry.ts',
      'docs/destinations.md',
    ]);
  });

  it('adds an import and an entry to the registry, and a row to the docs', () => {
    const added = (path: string): string[] => {
      const before = new Set(readFileSync(join(PROJECT, path), 'utf8').split('\n'));
      return readFileSync(join(root, path), 'utf8')
        .split('\n')
        .filter((line) => !before.has(line) && !/probe_?single/i.test(line));
    };
    expect(added(REGISTRY)).toEqual([`import { probe2 } from './destinations/${NAME}/adapter.ts';`, '  probe2,']);
    expect(added(PAGE)).toEqual([expect.stringMatching(/^\| `probe_2` \| Probe 2 \| 500 \| 7 days \|/)]);
  });

  it.each(['', 'Probe', '2fast', 'with-dash', 'end_', 'a/../b', 'x'.repeat(40)])('refuses the name %j', (name) => {
    expect(() => scaffold(root, name)).toThrow(UsageError);
  });

  it('overwrites nothing', () => {
    expect(() => scaffold(root, NAME)).toThrow(expect.objectContaining({ code: 'destination_exists' }));
  });
});
