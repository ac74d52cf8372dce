import { expect, test } from 'vitest';
import { runTemplate, runTemplateTest, templateSections, templateTests } from './gtm_template.ts';

const sections = templateSections();

test.for(['INFO', 'TEMPLATE_PARAMETERS', 'WEB_PERMISSIONS'])('the section %s of the template is JSON', (name) => {
  expect(() => JSON.parse(sections[name] ?? '')).not.toThrow();
});

test('the template has the sections that Tag Manager imports', () => {
  expect(Object.keys(sections)).toEqual([
    'INFO',
    'TEMPLATE_PARAMETERS',
    'SANDBOXED_JS_FOR_WEB_TEMPLATE',
    'WEB_PERMISSIONS',
    'TESTS',
    'NOTES',
  ]);
});

test("the template's code reads the fields it has, and no others", () => {
  const fields = (JSON.parse(sections['TEMPLATE_PARAMETERS'] ?? '') as { name: string }[]).map(({ name }) => name);
  const read = [...(sections['SANDBOXED_JS_FOR_WEB_TEMPLATE'] ?? '').matchAll(/\bdata\.(\w+)/g)].map(
    ([, name = '']) => name,
  );
  expect([...new Set(read)].filter((name) => !name.startsWith('gtmOn')).toSorted()).toEqual(fields.toSorted());
});

test('the template runs in a browser that has the tag without its stub: it calls the functions', () => {
  const calls: unknown[][] = [];
  const asked = runTemplate(
    { action: 'event', event: 'sign_up', gtmOnSuccess: () => undefined },
    {
      copyFromWindow: (key: string) => (key === 'svc' ? {} : undefined),
      callInWindow: (...args: unknown[]) => void calls.push(args),
    },
  );
  expect(calls).toEqual([['svc.track', 'sign_up', {}, {}]]);
  expect(asked).toContain('injectScript');
});

test('there are tests in the template', () => {
  expect(templateTests()).toHaveLength((sections['TESTS'] ?? '').match(/^- name:/gm)?.length ?? 0);
  expect(templateTests().length).toBeGreaterThan(2);
});

test.for(templateTests())('the template passes its own test: $name', ({ code }) => {
  runTemplateTest(code);
});
