import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CANARY } from './harness/operations_answers.ts';
import { withDefinitions } from './harness/settings_answers.ts';
import { type StubApi, startStubApi } from './harness/stub_api.ts';
import { openStubDashboard, type StubDashboard } from './harness/stub_dashboard.ts';

let dashboard: StubDashboard;
beforeAll(async () => {
  dashboard = await openStubDashboard();
});
afterAll(() => dashboard.close());

const KINDS = ['survey', 'promo', 'form'] as const;
const JAVASCRIPT = 'javascript:document.title=1';

/** Keeps what is sent to make something. */
function keepingSent(sent: object[]): StubApi {
  return withDefinitions(startStubApi()).on('POST', /\/(surveys|promos|forms)$/, (body) => {
    sent.push(body ?? {});
    return { status: 201, body: { ...body, revision: 1, version: 'v1', changed_at: 0, changed_by: 'ana' } };
  });
}

/** Unfolds every part of the form, and writes a text into every field for a text in it, or into those for numbers. */
async function fillAll(page: Page, text: string, numbers = false): Promise<void> {
  await page.evaluate(
    async ([written, kind]) => {
      for (const part of document.querySelectorAll('details')) part.open = true;
      const fields = document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(kind);
      for (const field of fields) {
        field.value = written;
        field.dispatchEvent(new Event('input', { bubbles: true }));
        // As nobody types into two at once.
        await new Promise((then) => setTimeout(then));
      }
    },
    [text, numbers ? NUMBERS : TEXTS] as const,
  );
}

const NUMBERS = '.editor form [inputmode=decimal]';
const TEXTS = '.editor form textarea, .editor form input[type=text]:not([role=combobox], [inputmode=decimal])';

const TRANSLATED = {
  ...{ id: 'why', name: 'Why', enabled: false },
  questions: [
    {
      ...{ id: 'q1', type: 'single', text: 'Why so few?' },
      choices: ['Prices', 'Delivery', 'Other'].map((label, at) => ({ id: `c${at + 1}`, label })),
      branches: [{ is: 'in', to: ['c3'], go_to: 'end' }],
    },
    { id: 'q2', type: 'open', text: 'What else?' },
  ],
  translations: { nl: { nothing: 'x', 'questions.q1.text': 'Waarom?', 'questions.q2.text': 'Wat nog?' } },
};

test('answers of a survey are texts, and what the service refuses of a definition is said beside its field', async () => {
  const problems = [{ code: 'personal_text', field: 'name', message: 'holds an e-mail address or a phone number' }];
  const error = { code: 'settings_invalid', message: 'The survey is not right.' };
  const api = withDefinitions(startStubApi()).on('PUT', /\/surveys\/nps$/, {
    status: 400,
    body: { error, problems },
  });
  const { page, context, faults } = await dashboard.visit('/sites/shop/engage', api);
  await page.getByRole('button', { name: CANARY }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('why: 3 answers').waitFor();
  await dialog.getByRole('listitem').getByText(CANARY).waitFor();
  await dialog.getByRole('tab', { name: 'Advanced' }).click();
  const json = dialog.getByLabel('Definition in JSON');
  await json.fill('{"id":');
  expect(await dialog.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true);
  await json.fill('{"id":"nps","name":"A","later":1,"questions":[{"id":"q1","type":"open","text":"Why?"}]}');
  await dialog.getByRole('tab', { name: 'Edit' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill('Ring +32 470 12 34 56');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  // What nobody knows is refused, and stays where it was written.
  await dialog.getByText('is not a field').waitFor();
  await dialog.getByRole('tab', { name: 'Advanced' }).click();
  await json.fill((await json.inputValue()).replace('  "later": 1,\n', ''));
  await dialog.getByRole('tab', { name: 'Edit' }).click();
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await dialog.getByText('Holds an e-mail address or a phone number.').waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-invalid'))).toBe('true');
  expect(await page.locator('main img').count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

test('by clicks a survey gets questions in an order; what is missing is said and focused; nothing is lost on the way', async () => {
  const sent: object[] = [];
  const { page, context, faults } = await dashboard.visit('/sites/shop/engage', keepingSent(sent));
  await page.getByRole('button', { name: 'New survey' }).click();
  const dialog = page.getByRole('dialog', { name: 'New survey' });
  await dialog.getByLabel('Name', { exact: true }).fill('Why so few');
  expect(await dialog.getByLabel('Id', { exact: true }).first().inputValue()).toBe('why-so-few');
  await dialog.getByRole('button', { name: 'Add a question' }).click();
  const second = dialog.getByRole('listitem', { name: 'Question 2' });
  await second.getByLabel('Question', { exact: true }).fill('What should be better?');
  await second.getByLabel('Answer type').selectOption('Single choice');
  await second.getByRole('button', { name: 'Add an answer' }).click();
  await second.getByRole('textbox', { name: 'Answer 1' }).fill('Prices');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await second.getByText('Has fewer than two.').waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Has fewer than two.');
  await second.getByRole('button', { name: 'Add an answer' }).click();
  await second.getByRole('textbox', { name: 'Answer 2' }).fill('Delivery');
  const preview = dialog.getByRole('region', { name: 'Preview' });
  await preview.getByRole('radio', { name: 'Delivery' }).waitFor();
  await dialog.getByRole('button', { name: 'Move question 2 up' }).click();
  await dialog.getByRole('listitem', { name: 'Question 1' }).getByLabel('Required').check();
  const first = dialog.getByRole('listitem', { name: 'Question 1' });
  await first.getByText('More options of question 1').click();
  await first.getByRole('button', { name: 'Add a rule' }).click();
  await first.getByRole('checkbox', { name: 'Delivery' }).check();
  await preview.getByRole('radio', { name: 'Prices' }).check();
  await preview.getByRole('button', { name: 'Next' }).click();
  await preview.getByText('How likely is it').waitFor();
  await dialog.getByRole('tab', { name: 'Advanced' }).click();
  const json = dialog.getByLabel('Definition in JSON');
  await json.fill(
    (await json.inputValue()).replace('"enabled"', '"translations": { "nl": { "title": "Vraag" } },\n  "enabled"'),
  );
  await dialog.getByRole('tab', { name: 'Edit' }).click();
  await preview.getByLabel('Language').selectOption('nl');
  await preview.getByRole('heading', { name: 'Vraag' }).waitFor();
  await dialog.getByText('Targeting').click();
  await dialog.getByLabel('Show on pages').fill('/thanks*\n\n /order/* ');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Cancel' }).click();
  await dialog.getByRole('button', { name: 'Save and start' }).click();
  await page.getByText('Saved Why so few').waitFor();
  const [better, nps] = [
    { type: 'single', required: true },
    { id: 'nps', type: 'rating' },
  ];
  expect(sent).toMatchObject([
    {
      ...{ id: 'why-so-few', enabled: true, questions: [better, nps], translations: { nl: { title: 'Vraag' } } },
      targeting: { url_pattern: ['/thanks*', '/order/*'] },
    },
  ]);
  expect(faults).toEqual([]);
  await context.close();
});

test('what is removed takes its texts along, nothing gets its id, and a rule that names it can be mended', async () => {
  const sent: object[] = [];
  const { page, context, faults } = await dashboard.visit('/sites/shop/engage?item=%2B', keepingSent(sent));
  const dialog = page.getByRole('dialog');
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim());
  const save = dialog.getByRole('button', { name: 'Save', exact: true });
  await dialog.getByRole('tab', { name: 'Advanced' }).click();
  const json = dialog.getByLabel('Definition in JSON');
  await json.fill(JSON.stringify(TRANSLATED));
  await dialog.getByRole('tab', { name: 'Edit' }).click();
  await save.click();
  // No field has the text that nothing is the translation of.
  await expect.poll(focused).toContain('Not saved');
  await dialog.getByRole('tab', { name: 'Advanced' }).click();
  await json.fill((await json.inputValue()).replace('nothing', 'title'));
  await dialog.getByRole('tab', { name: 'Edit' }).click();
  await dialog.getByRole('button', { name: 'Remove question 2' }).click();
  await dialog.getByRole('status').getByText('Question 2 is removed, 1 left').waitFor();
  await dialog.getByRole('button', { name: 'Add a question' }).click();
  const [first, second] = [1, 2].map((at) => dialog.getByRole('listitem', { name: `Question ${at}`, exact: true }));
  await second?.getByLabel('Question', { exact: true }).fill('Why?');
  await second?.getByLabel('Max characters').fill('-1');
  await dialog.getByText(' The last valid version is shown.').waitFor();
  await second?.getByLabel('Max characters').fill('100');
  await first?.getByText('More options of question 1').click();
  await first?.getByRole('button', { name: 'Remove answer 3' }).click();
  await first?.getByRole('checkbox', { name: 'c3' }).click();
  await first?.getByRole('checkbox', { name: 'Prices' }).check();
  await first?.getByLabel('Id', { exact: true }).last().fill('why');
  await dialog.getByText('Appearance').click();
  await dialog.getByLabel('Delay, in seconds').fill('');
  await save.click();
  await page.getByText('Saved Why').waitFor();
  const questions = [{ id: 'why', branches: [{ to: ['c1'] }] }, { id: 'q3' }];
  expect(sent).toMatchObject([{ questions, show: { after_ms: 0 } }]);
  expect(sent[0]).toHaveProperty('translations', { nl: { title: 'x', 'questions.why.text': 'Waarom?' } });
  expect(faults).toEqual([]);
  await context.close();
});

test.for(KINDS)(
  'markup in every field of a %s is text, in the form and in its preview, and links lead nowhere',
  async (kind) => {
    const api = withDefinitions(startStubApi());
    const { page, context, faults } = await dashboard.visit(`/sites/shop/engage?kind=${kind}&item=%2B`, api);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('region', { name: 'Preview' }).waitFor();
    if (kind === 'survey') await dialog.getByLabel('Answer type').selectOption('Link');
    await fillAll(page, CANARY);
    if (kind !== 'form') await dialog.getByLabel(/^(Link|Button) URL/).fill(JAVASCRIPT);
    const panel = dialog.locator('svc-engage');
    await panel.getByText(CANARY).first().waitFor();
    const links = panel.getByRole('link');
    await expect.poll(() => links.count()).toBe(kind === 'form' ? 0 : 1);
    for (const link of await links.all()) await link.click({ button: 'middle' });
    for (const link of await links.all()) await link.click();
    await fillAll(page, CANARY, true);
    await dialog.getByText(' The last valid version is shown.').waitFor();
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByText('Not saved').waitFor();
    expect(await panel.locator('img[onerror], script').count()).toBe(0);
    expect(await page.locator('img[onerror]').count()).toBe(0);
    expect(await page.title()).not.toBe('1');
    expect(context.pages()).toHaveLength(1);
    expect(faults).toEqual([]);
    await context.close();
  },
);
