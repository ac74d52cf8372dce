import { mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { type BundleOptions, bundle, bundleApp } from '#infra/bundler/bundle.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures');
const ENTRY = join(FIXTURES, 'entry.ts');

const textOf = async (options: Partial<BundleOptions> = {}): Promise<string> =>
  new TextDecoder().decode(await bundle({ entry: ENTRY, format: 'iife', ...options }));

/** The bundler's processes among the children of a process. */
async function bundlersOf(parent: number): Promise<string[]> {
  const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // A process may end between the two.
  const stats = await Promise.all(numbers.map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')));
  return stats.filter((stat) => new RegExp(`^\\d+ \\(esbuild\\) \\w ${parent} `).test(stat));
}

describe('a bundle', () => {
  it('runs as a classic script with what its entry imports', async () => {
    const page: { greeted?: string } = {};
    runInNewContext(await textOf(), page);
    expect(page.greeted).toBe('hello world ✓');
  });

  it('leaves no global of its own behind', async () => {
    const page = {};
    runInNewContext(await textOf(), page);
    expect(Object.keys(page)).toEqual(['greeted']);
  });

  it('tells the browser in its first line to compile what runs at once, and runs', async () => {
    const text = await textOf({ runsWhole: true });
    const page: { greeted?: string } = {};
    runInNewContext(text, page);
    expect(text.split('\n', 1)).toEqual(['//# allFunctionsCalledOnLoad']);
    expect(page.greeted).toBe('hello world ✓');
    expect(await textOf()).not.toContain('allFunctionsCalledOnLoad');
  });

  it('exports as a module', async () => {
    const text = await textOf({ format: 'esm' });
    const module = await import(`data:text/javascript,${encodeURIComponent(text)}`);
    expect(module.greeting).toBe('hello module ✓');
  });

  it('is minified', async () => {
    expect((await textOf()).trimEnd()).not.toMatch(/\n| {2}|name: string/);
  });

  it('shortens underscored properties when asked', async () => {
    expect(await textOf()).toContain('name_');
    expect(await textOf({ manglesUnderscored: true })).not.toContain('name_');
  });

  it('is the same bytes for the same sources', async () => {
    expect(await textOf()).toBe(await textOf());
  });

  it('names the place of an import that is not there', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'bundle-'));
    const entry = join(directory.path, 'missing.ts');
    await writeFile(entry, "// Line 1.\nimport { nothing } from './nowhere.ts';\nalert(nothing);\n");
    await expect(textOf({ entry })).rejects.toMatchObject({
      code: 'bundle_failed',
      message: expect.stringMatching(/missing\.ts:2: Could not resolve "\.\/nowhere\.ts"/),
    });
  });

  it('names an entry that is not there', async () => {
    await expect(textOf({ entry: join(FIXTURES, 'none.ts') })).rejects.toMatchObject({ code: 'bundle_failed' });
  });

  it('leaves no process of the bundler running', async () => {
    await Promise.all([textOf(), textOf({ format: 'esm' })]);
    await expect.poll(() => bundlersOf(process.pid)).toEqual([]);
  });
});

describe('an application', () => {
  const written = async (files: Record<string, string>) => {
    const directory = await mkdtempDisposable(join(FIXTURES, 'app-'));
    await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(directory.path, name), text)));
    return directory;
  };

  it('is a script that draws by Preact, one that is fetched later, and a file of styles', async () => {
    await using directory = await written({
      'main.tsx': "import './look.css';\nexport const drawn = <p class=\"a\">hello</p>;\nvoid import('./later.ts');\n",
      'later.ts': "export const later = 'later';\n",
      'look.css': '.a { color: light-dark(red, blue) }\n',
    });
    const app = await bundleApp(join(directory.path, 'main.tsx'));
    const text = (name: string | null): string =>
      new TextDecoder().decode(app.files.find((file) => file.name === name)?.bytes);
    const later = app.files.find(({ name }) => name.startsWith('later.'));
    const atOnce = [app.script, ...app.preloads].map(text).join('\n');
    expect(atOnce).toContain(`import("./${later?.name}")`);
    expect(atOnce).toMatch(/"p",\{class:"a",children:"hello"\}/);
    expect(text(app.style)).toContain('light-dark(red,blue)');
    expect([...app.later]).toEqual([[join(directory.path, 'later.ts'), [later?.name, ...app.preloads]]]);
    expect(app.files.every(({ name }) => /^\w+\.[0-9A-Z]{8}\.(?:js|css)$/.test(name))).toBe(true);
  });

  it('has what its entry imports in one file, and what its first page does in another, whatever others share of it', async () => {
    await using directory = await written({
      'main.ts':
        "import './look.css';\nimport { a, b } from './shared.ts';\nexport const sum = a + b;\n" +
        ['one', 'two', 'first'].map((name) => `void import('./${name}.ts');`).join('\n'),
      'shared.ts': "export { a } from './a.ts';\nexport { b } from './b.ts';\n",
      'a.ts': "export const a = 'in main: a';\n",
      'b.ts': "export const b = 'in main: b';\n",
      'c.ts': "export const c = 'in first: c';\n",
      'd.ts': "export const d = 'in first: d';\n",
      'one.ts': "import { a } from './a.ts';\nimport { c } from './c.ts';\nconsole.log(a, c);\n",
      'two.ts': "import { b } from './b.ts';\nimport { d } from './d.ts';\nconsole.log(b, d);\n",
      'first.ts': "import { c } from './c.ts';\nimport { d } from './d.ts';\nconsole.log(c, d);\n",
      'look.css': '.a { color: red }\n',
    });
    const at = (name: string): string => join(directory.path, name);
    const app = await bundleApp(at('main.ts'), [at('first.ts')]);
    const having = (text: string): string[] =>
      app.files.filter(({ bytes }) => new TextDecoder().decode(bytes).includes(text)).map(({ name }) => name);
    expect(app.preloads).toEqual(having('in main: a'));
    expect(having('in main: b')).toEqual(app.preloads);
    expect(having('in first: c')).toEqual(having('in first: d'));
    expect(app.later.get(at('first.ts'))).toEqual(expect.arrayContaining([...having('in first: c'), ...app.preloads]));
    expect(app.files.map(({ name }) => name).filter((name) => name.endsWith('.css'))).toEqual([app.style]);
    const scripts = app.files.filter(({ name }) => name.endsWith('.js'));
    expect(scripts).toHaveLength(6);
    for (const { bytes } of scripts) {
      expect(new TextDecoder().decode(bytes).split('\n', 1)).toEqual(['//# allFunctionsCalledOnLoad']);
    }
  });

  it('without styles has none', async () => {
    await using directory = await written({ 'main.tsx': 'export const drawn = 1;\n' });
    expect(await bundleApp(join(directory.path, 'main.tsx'))).toMatchObject({ style: null, preloads: [] });
  });

  it('names the place of an import that is not there', async () => {
    await using directory = await written({ 'main.tsx': "import './nowhere.ts';\n" });
    await expect(bundleApp(join(directory.path, 'main.tsx'))).rejects.toMatchObject({
      code: 'bundle_failed',
      message: expect.stringMatching(/main\.tsx:1: Could not resolve/),
    });
  });
});
