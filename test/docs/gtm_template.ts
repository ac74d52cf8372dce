import { isDeepStrictEqual } from 'node:util';
import { compileFunction } from 'node:vm';
import { installFile } from './install_page.ts';

/** The sections of the template for Tag Manager, by their names between the underscores. */
export function templateSections(): Record<string, string> {
  const [, ...parts] = installFile('gtm/template.tpl').split(/^___([A-Z_]+)___\n/m);
  return Object.fromEntries(parts.flatMap((name, at) => (at % 2 === 0 ? [[name, parts[at + 1]?.trim() ?? '']] : [])));
}

type Api = (...args: never[]) => unknown;
/** What of Tag Manager's sandbox needs no browser. */
const PLAIN: Record<string, Api> = {
  encodeUriComponent: encodeURIComponent,
  makeNumber: Number,
  makeTableMap: (rows: Record<string, string>[], name: string, value: string) =>
    Object.fromEntries(rows.map((row) => [row[name], row[value]])),
};

/**
 * Runs the template's code as Tag Manager does: strict, with nothing but `require` and `data`.
 *
 * @returns the names of what it asked for by `require`.
 */
export function runTemplate(data: Record<string, unknown>, apis: Record<string, Api>): string[] {
  const asked: string[] = [];
  const find = (name: string): Api => {
    asked.push(name);
    return apis[name] ?? PLAIN[name] ?? (() => undefined);
  };
  const code = `'use strict';\n${templateSections()['SANDBOXED_JS_FOR_WEB_TEMPLATE'] ?? ''}`;
  compileFunction(code, ['require', 'data'])(find, data);
  return asked;
}

/** The template's own tests: name and code. */
export function templateTests(): { name: string; code: string }[] {
  const written = templateSections()['TESTS'] ?? '';
  return [...written.matchAll(/^- name: (.+)\n {2}code: \|-\n((?: {4}.*\n)+)/gm)].map(([, name = '', code = '']) => ({
    name,
    code,
  }));
}

/** Runs one of them with the functions that Tag Manager gives to tests. Throws where it fails. */
export function runTemplateTest(code: string): void {
  const mocks: Record<string, Api> = {};
  const called: Record<string, boolean> = {};
  const spy =
    (name: string): Api =>
    () =>
      (called[name] = true);
  const mock = (name: string, api: Api): void => {
    mocks[name] = (...args) => {
      called[name] = true;
      return api(...args);
    };
  };
  const callbacks = { gtmOnSuccess: spy('gtmOnSuccess'), gtmOnFailure: spy('gtmOnFailure') };
  const runCode = (data: object): unknown => runTemplate({ ...callbacks, ...data }, mocks);
  const fail = (what: string): never => {
    throw new Error(what);
  };
  const assertApi = (name: string) => ({ wasCalled: () => called[name] ?? fail(`${name} was not called`) });
  const assertThat = (actual: unknown) => ({
    isEqualTo: (expected: unknown) =>
      isDeepStrictEqual(actual, expected) || fail(`${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`),
  });
  compileFunction(code, ['mock', 'runCode', 'assertApi', 'assertThat'])(mock, runCode, assertApi, assertThat);
}
