import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { handedOut, showOn, told, toldTo } from './harness/engage_pages.ts';
import { openTagWorld, type TagWorld } from './harness/tag_world.ts';

let world: TagWorld;
beforeAll(async () => {
  world = await openTagWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.reset();
  world.configure({ tag: { inventory: false, engage: true } });
});

const choices = [
  { id: 'a', label: 'AA' },
  { id: 'b', label: 'BB' },
];
const survey = (questions: object[], more: object = {}): object =>
  handedOut('survey', { id: 'nps', title: 'Two minutes', questions, ...more });
const FORM = {
  id: 'quote',
  title: 'A quote',
  fields: [{ name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' }],
  spam: { min_ms: 0 },
};
const answersTold = (): unknown[] =>
  toldTo(world, 'surveys/respond').map(({ status, answers }) => [status, answers?.map(({ value }) => value)]);
const panels = (page: Page): Promise<number> => page.locator('svc-engage').count();

test('a double click on Next does not skip the question after', async () => {
  showOn(world, [
    survey([
      { id: 'one', type: 'single', text: 'One', choices },
      { id: 'two', type: 'single', text: 'Two', choices },
      { id: 'three', type: 'open', text: 'Three' },
    ]),
  ]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.getByRole('radio', { name: 'AA' }).check();
  await page.getByRole('button', { name: 'Next' }).dblclick();
  await page.getByText('Two', { exact: true }).waitFor();
  await page.waitForTimeout(600);
  expect(answersTold()).toEqual([
    ['shown', undefined],
    ['partial', ['a']],
  ]);
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByLabel('Three').waitFor();
  await context.close();
});

test.for([
  ['a choice without its words', { type: 'single', text: 'Why', choices, open_choice: true }, 'Other'],
  ['a link that was not followed', { type: 'link', text: 'Read', url: '/next' }, null],
  ['several choices, of which none is made', { type: 'multiple', text: 'Which', choices }, null],
] as const)('where an answer is required, %s is none', async ([, question, chosen]) => {
  showOn(world, [survey([{ id: 'q', required: true, ...question }])]);
  const context = await world.visitor();
  const page = await world.visit(context);
  const send = page.getByRole('button', { name: 'Send' });
  await send.waitFor();
  await page.waitForTimeout(600);
  if (chosen !== null) await page.getByRole('radio', { name: chosen }).check();
  await send.click();
  expect(await send.evaluate((button: HTMLButtonElement) => button.validationMessage)).toBe('Please choose an answer');
  if (chosen !== null) await page.getByRole('textbox').fill('mine');
  else if (question.type === 'multiple') await page.getByRole('checkbox', { name: 'AA' }).check();
  else
    await page
      .locator('svc-engage')
      .getByRole('link')
      .click({ modifiers: ['Control'] });
  // A link is answered by following it.
  if (question.type !== 'link') await send.click();
  await told(world, 'surveys/respond', 2);
  expect(answersTold()).toEqual([
    ['shown', undefined],
    ['completed', [{ single: 'mine', link: true, multiple: ['a'] }[question.type]]],
  ]);
  await context.close();
});

test('what is open closes when the visitor refuses, on this page or in another tab, and says nothing', async () => {
  showOn(world, [handedOut('form', FORM)]);
  const context = await world.visitor();
  const [page, other] = [await world.visit(context), await world.visit(context, '/next')];
  await page.getByLabel('E-mail').fill('ada@mail.example');
  await other.getByLabel('E-mail').waitFor();
  await other.evaluate(() => window.svc.consent({ analytics: false }));
  for (const one of [page, other]) await one.waitForFunction(() => !document.querySelector('svc-engage'));
  await page.waitForTimeout(300);
  // The second tab may send once more what the first one has no answer to yet, under its id.
  const shown = new Set(toldTo(world, 'form').map(({ status, submission_id }) => `${status} ${submission_id}`));
  expect([...shown].map((one) => one.split(' ')[0])).toEqual(['shown', 'shown']);
  expect(await page.evaluate(() => localStorage.getItem('svc_e'))).toBeNull();
  await context.close();
});

test.for([404, 413])('a form that is refused with %i says so, and keeps what was filled in', async (status) => {
  showOn(world, [handedOut('form', FORM)]);
  const context = await world.visitor();
  const page = await world.visit(context);
  const email = page.getByLabel('E-mail');
  await email.fill('ada@mail.example');
  await told(world, 'form', 1);
  world.edge.answer = { kind: 'refuse', status };
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('alert').getByText('It could not be sent').waitFor();
  expect(await email.inputValue()).toBe('ada@mail.example');
  world.edge.answer = { kind: 'take' };
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Thank you').waitFor();
  await context.close();
});

test('of a survey’s answer that lacks a proof the visitor is told that it could not be sent, and it waits', async () => {
  const thanks = { title: 'Thank you', text: '' };
  showOn(world, [survey([{ id: 'o', type: 'open', text: 'Why' }], { thanks })]);
  const challenge = { salt: 's', challenge: 'of no number', maxnumber: 1, signature: 'signed' };
  world.edge.replies['/v1/surveys/respond'] = { accepted: 0, challenge };
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.getByLabel('Why').fill('Because');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('It could not be sent').waitFor();
  expect(await page.getByText('Thank you').count()).toBe(0);
  expect(await page.evaluate(() => localStorage.getItem('svc_e'))).toContain('Because');
  await context.close();
});

test('of two tabs that show the same a reload of one goes on with its own', async () => {
  showOn(world, [survey([{ id: 'o', type: 'open', text: 'Why' }])]);
  const context = await world.visitor();
  const [first, second] = [await world.visit(context), await world.visit(context)];
  for (const one of [first, second]) {
    await one.bringToFront();
    await one.getByLabel('Why').waitFor();
  }
  const [, shownSecond] = await told(world, 'surveys/respond', 2);
  showOn(world, []);
  await second.reload();
  await second.getByLabel('Why').fill('Because');
  expect([await panels(first), await panels(second)]).toEqual([1, 1]);
  await second.getByRole('button', { name: 'Send' }).click();
  const [, , answered] = await told(world, 'surveys/respond', 3);
  expect(answered?.submission_id).toBe(shownSecond?.submission_id);
  // Who has answered is not asked for the same in another tab.
  await first.waitForFunction(() => !document.querySelector('svc-engage'));
  expect(toldTo(world, 'surveys/respond')).toHaveLength(3);
  await context.close();
});

test('what another tab has shown since is asked for anew before it appears', async () => {
  const promo = { id: 'sale', title: 'Winter sale', show: { on: 'event', event: 'quiz' } };
  showOn(world, [handedOut('promo', promo)]);
  const context = await world.visitor();
  const [first, second] = [await world.visit(context), await world.visit(context)];
  await told(world, 'engage', 2);
  await second.waitForTimeout(300);
  showOn(world, []);
  await second.evaluate(() => window.svc.track('quiz'));
  await second.getByRole('heading', { name: 'Winter sale' }).waitFor();
  // A page that is hidden asks when it is seen.
  await first.bringToFront();
  const [, , again] = await told(world, 'engage', 3);
  expect(again?.seen?.['promo:sale']).toMatchObject({ n: 1 });
  await first.evaluate(() => window.svc.track('quiz'));
  await first.waitForTimeout(300);
  expect([await panels(first), await panels(second)]).toEqual([0, 1]);
  await context.close();
});

test('a form says that it is being sent, waits for a connection, and then says what became of it', async () => {
  showOn(world, [handedOut('form', { ...FORM, spam: { min_ms: 700 }, message: 'We call you.' })]);
  world.edge.replies['/v1/form'] = { accepted: 1, message: 'We call you.' };
  const context = await world.visitor();
  const page = await world.visit(context);
  await told(world, 'form', 1);
  await page.getByLabel('E-mail').fill('ada@mail.example');
  await page.evaluate(() => {
    const alert = document.querySelector('svc-engage')?.shadowRoot?.querySelector('[role=alert]') as Element;
    const said: (string | null)[] = [];
    Object.assign(window, { said });
    new MutationObserver(() => said.push(alert.textContent)).observe(alert, { childList: true });
  });
  await context.setOffline(true);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('It is sent as soon as you are online again').waitFor();
  expect(await page.evaluate(() => Reflect.get(window, 'said')?.[0])).toBe('Sending…');
  await page.getByRole('button', { name: 'Send' }).click();
  await context.setOffline(false);
  await page.getByText('We call you.').waitFor();
  await page.waitForTimeout(300);
  expect(toldTo(world, 'form').map(({ status }) => status)).toEqual(['shown', 'submitted']);
  await context.close();
});

test('while a modal dialog of the page is open nothing appears beside it', async () => {
  world.pages['/'] = {
    body: '<dialog><button>Yes</button></dialog><script>document.querySelector("dialog").showModal()</script>',
  };
  showOn(world, [handedOut('form', FORM)]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await told(world, 'engage', 1);
  await page.waitForTimeout(800);
  expect(await panels(page)).toBe(0);
  await page.evaluate(() => document.querySelector('dialog')?.close());
  await page.getByLabel('E-mail').fill('ada@mail.example');
  await context.close();
});

test('in a low window the button that closes stays in view', async () => {
  const fields = Array.from({ length: 8 }, (_, at) => ({ name: `f${at}`, type: 'text', label: `Field ${at}` }));
  showOn(world, [handedOut('form', { ...FORM, fields })]);
  const context = await world.visitor({ viewport: { width: 360, height: 320 } });
  const page = await world.visit(context);
  const close = page.getByRole('button', { name: 'Close' });
  const before = await close.boundingBox();
  await page.getByLabel('Field 7').scrollIntoViewIfNeeded();
  expect(await page.locator('svc-engage .panel').evaluate(({ scrollTop }) => scrollTop)).toBeGreaterThan(100);
  const after = await close.boundingBox();
  expect(after?.y).toBeGreaterThan(0);
  expect(Math.abs((after?.y ?? 0) - (before?.y ?? 0))).toBeLessThan(8);
  await close.click();
  expect(await panels(page)).toBe(0);
  await context.close();
});

test.for(['number', 'star'])('with forced colours the chosen step of a rating by %s can be told', async (display) => {
  showOn(world, [survey([{ id: 'q', type: 'rating', scale: 5, display, text: 'How was it?' }])]);
  const context = await world.visitor({ forcedColors: 'active' });
  const page = await world.visit(context);
  await page.getByRole('radio', { name: '2' }).check();
  const colours = await page
    .locator('svc-engage .steps span')
    .evaluateAll((spans) =>
      spans.map(
        (span) =>
          getComputedStyle(span.parentElement as Element).backgroundColor +
          getComputedStyle(span).backgroundColor +
          getComputedStyle(span).color,
      ),
    );
  expect(colours[1]).not.toBe(colours[4]);
  await context.close();
});

test('what comes by itself is announced by its name, and takes no focus', async () => {
  showOn(world, [survey([{ id: 'o', type: 'open', text: 'Why' }])]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.getByRole('status').getByText('Two minutes').waitFor({ state: 'attached' });
  expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
  await context.close();
});
