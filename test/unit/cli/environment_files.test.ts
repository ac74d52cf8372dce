import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { filesIn, stageFiles, sweepBeside, whileLocked } from '#services/cli/password/environment_files.ts';
import { valueIn, withValue } from '#services/cli/password/environment_text.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'environment-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const fileOf = (text: string) => ({ path: '/etc/svc/edge.env', names: ['edge.env'], text });

test.each([
  ['A=old', 'A=new'],
  ['# A=older\n;A=older\nB=1\nA=old\r\nC=2', '# A=older\n;A=older\nB=1\nA=new\r\nC=2'],
  ['export A=old', 'export A=new'],
  ['A="old"  ', 'A="new"  '],
  [`A='old'`, `A='new'`],
  ['AA=1\nXA=2\nA=old', 'AA=1\nXA=2\nA=new'],
  ['B="several\nlines"\nA=old', 'B="several\nlines"\nA=new'],
])('the value of a variable in %j', (text, wanted) => {
  expect(valueIn(fileOf(text), 'A')).toBe('old');
  expect(withValue(fileOf(text), 'A', 'new')).toBe(wanted);
});

test.each([
  'A=old\nA=older',
  'A=\nexport A=old',
  'A =old',
  ' A=old',
  'A= old',
  'A=old # its',
  'A=old#its',
  'A=old secret',
  'A="old',
  'A="old"er',
  'A="$old"',
  'A=`old`',
  'A=old\\',
  'B=1 \\\nA=old',
  'B="\nA=old\n"',
])('%j is refused, and not quoted', (text) => {
  const refused = expect.objectContaining({
    code: 'variable_unreadable',
    message: expect.stringMatching(/^\/etc\/svc\/edge\.env: A (?!.*old)/),
  });
  expect(() => valueIn(fileOf(text), 'A')).toThrow(refused);
  expect(() => withValue(fileOf(text), 'A', 'new')).toThrow(refused);
});

test('a variable that a file does not have is not put there', () => {
  expect(withValue(fileOf('B=1\n'), 'A', 'new')).toBe('B=1\n');
});

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text, { mode: 0o640 });
const textsOf = () => filesIn(folder).map(({ text }) => text);
const replacements = () => filesIn(folder).map((file) => ({ file, text: `${file.text}new` }));

test('files are replaced with their modes, and links to them stay', () => {
  mkdirSync(join(folder, 'real'));
  write('real/settings', 'a');
  symlinkSync('real/settings', join(folder, 'a.env'));
  symlinkSync('real/settings', join(folder, 'again.env'));
  write('b.env', 'b');
  chmodSync(join(folder, 'b.env'), 0o604);
  const staged = stageFiles(replacements());
  expect(textsOf()).toEqual(['a', 'b']);
  expect(statSync(join(folder, 'b.env.new')).mode & 0o777).toBe(0o604);
  staged.commit();
  staged.discard();
  expect(textsOf()).toEqual(['anew', 'bnew']);
  expect(lstatSync(join(folder, 'a.env')).isSymbolicLink()).toBe(true);
  expect(statSync(join(folder, 'b.env')).mode & 0o777).toBe(0o604);
  expect(statSync(join(folder, 'real/settings')).mode & 0o777).toBe(0o640);
  expect([...readdirSync(folder), ...readdirSync(join(folder, 'real'))].sort()).toEqual([
    'a.env',
    'again.env',
    'b.env',
    'real',
    'settings',
  ]);
});

test('of files one of which cannot be replaced none is', () => {
  for (const name of ['a', 'b', 'c']) write(`${name}.env`, name);
  const before = statSync(join(folder, 'a.env')).ino;
  const staged = stageFiles(replacements());
  rmSync(join(folder, 'c.env.new'));
  expect(staged.commit).toThrow('ENOENT');
  staged.discard();
  expect(textsOf()).toEqual(['a', 'b', 'c']);
  expect(statSync(join(folder, 'a.env')).ino).toBe(before);
  expect(readdirSync(folder)).toEqual(['a.env', 'b.env', 'c.env']);
});

test('a file that was changed meanwhile is not lost', () => {
  for (const name of ['a', 'b']) write(`${name}.env`, name);
  const staged = stageFiles(replacements());
  write('b.env', 'by hand');
  expect(staged.commit).toThrow(expect.objectContaining({ code: 'file_changed' }));
  staged.discard();
  expect(textsOf()).toEqual(['a', 'by hand']);
});

test('what stands beside the files is not written over, and is swept by who knows whose it is', () => {
  for (const name of ['a.env', 'b.env', 'b.env.new']) write(name, name);
  expect(() => stageFiles(replacements())).toThrow('EEXIST');
  expect(readdirSync(folder)).toEqual(['a.env', 'b.env', 'b.env.new']);
  expect(readFileSync(join(folder, 'b.env.new'), 'utf8')).toBe('b.env.new');
  sweepBeside(filesIn(folder));
  stageFiles(replacements()).commit();
  expect(textsOf()).toEqual(['a.envnew', 'b.envnew']);
});

test('one command at a time changes a folder; what a dead one held is taken over', async () => {
  const nested = whileLocked(folder, 0, () => whileLocked(folder, 0, async () => 'both'));
  await expect(nested).rejects.toMatchObject({
    code: 'rotation_running',
    message: expect.stringContaining(`process ${process.pid} changes passwords here since 1970-01-01T00:00:00.000Z`),
  });
  expect(readdirSync(folder)).toEqual([]);
  const { pid } = spawnSync('true');
  write('rotation.lock', JSON.stringify({ pid, since: 'then' }));
  expect(await whileLocked(folder, 0, async () => readdirSync(folder))).toEqual(['rotation.lock']);
  expect(readdirSync(folder)).toEqual([]);
  write('rotation.lock', 'nonsense');
  await expect(whileLocked(folder, 0, async () => 'never')).rejects.toMatchObject({ code: 'rotation_running' });
  expect(readdirSync(folder)).toEqual(['rotation.lock']);
});
