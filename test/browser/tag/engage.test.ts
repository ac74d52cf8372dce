import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { axeFinds, handedOut, shiftsOf, showOn, told, toldTo, watchShifts } from './harness/engage_pages.ts';
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

const SURVEY = {
  id: 'nps',
  title: 'One question',
  questions: [
    {
      id: 'score',
      type: 'rating',
      scale: 11,
      text: 'How likely is it that you come back?',
      low_label: 'not at all',
      high_label: 'very',
      required: true,
      branches: [{ is: 'at_most', to: [6], go_to: 'why' }],
      next: 'end',
    },
    { id: 'why', type: 'open', text: 'What was missing?' },
  ],
  thanks: { title: 'Thank you', text: 'We read every answer.' },
};
const POLICY = [
  "default-src 'none'",
  "style-src 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types svc',
  "base-uri 'none'",
];

test('under a strict policy a survey is answered by keyboard alone, each step told once, and nothing moves', async () => {
  const csp = [...POLICY, `script-src ${world.collector}`, `connect-src ${world.collector}`].join('; ');
  world.pages['/'] = { body: '<h1>Shop</h1><p>Lamps</p>', headers: { 'content-security-policy': csp } };
  showOn(world, [handedOut('survey', SURVEY)]);
  const context = await world.visitor();
  const page = await context.newPage();
  const violations: string[] = [];
  page.on(
    'console',
    (message) => message.text().includes('Content Security Policy') && violations.push(message.text()),
  );
  await watchShifts(page);
  await page.goto(world.shop);
  await page.getByRole('dialog', { name: 'One question' }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByLabel('What was missing?').waitFor();
  await page.keyboard.type('The lamp');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('We read every answer.').waitFor();
  await page.keyboard.press('Escape');
  expect(await page.locator('svc-engage').count()).toBe(0);
  const all = await told(world, 'surveys/respond', 3);
  await sleep(300);
  expect(all.map(({ status, answers }) => [status, answers?.map(({ value }) => value)])).toEqual([
    ['shown', undefined],
    ['partial', [1]],
    ['completed', [1, 'The lamp']],
  ]);
  expect(new Set(all.map(({ submission_id }) => submission_id)).size).toBe(1);
  expect(all.map(({ revision }) => revision)).toEqual([undefined, 1, 2]);
  expect(toldTo(world, 'surveys/respond')).toHaveLength(3);
  expect([violations, await shiftsOf(page)]).toEqual([[], 0]);
  await context.close();
});

const CHOICE = {
  id: 'found',
  title: 'Found it?',
  questions: [
    {
      id: 'how',
      type: 'single',
      text: 'How did you find us?',
      choices: [
        { id: 'ad', label: 'An ad' },
        { id: 'friend', label: 'A friend' },
      ],
      open_choice: true,
    },
  ],
};

test('a modal that the visitor asks for takes the focus, keeps it, closes by Escape and gives it back', async () => {
  world.pages['/'] = { body: '<button id="ask">Tell us</button><a id="next" href="/next">next</a>' };
  showOn(world, [handedOut('survey', { ...CHOICE, place: 'modal', show: { on: 'click', selector: '#ask' } })]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await told(world, 'engage', 1);
  await page.waitForTimeout(300);
  await page.locator('#ask').focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Found it?' });
  await dialog.waitFor();
  const focused = (): Promise<string | undefined> =>
    page.evaluate(() => document.activeElement?.id || document.activeElement?.localName);
  const seen = new Set<string | undefined>([await focused()]);
  expect([...seen]).toEqual(['svc-engage']);
  for (let at = 0; at < 8; at += 1) {
    await page.keyboard.press('Tab');
    seen.add(await focused());
  }
  expect(seen).not.toContain('next');
  expect(seen).not.toContain('ask');
  await dialog.getByRole('textbox').focus();
  await page.keyboard.press('Escape');
  expect([await focused(), await dialog.count()]).toEqual(['ask', 0]);
  const all = await told(world, 'surveys/respond', 2);
  expect(all.map(({ status }) => status)).toEqual(['shown', 'dismissed']);
  // It may be asked for again, under another token.
  await told(world, 'engage', 2);
  await context.close();
});

const FORM = {
  id: 'quote',
  title: 'A quote',
  place: 'inline',
  mount: '#here',
  fields: [
    { name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' },
    { name: 'size', type: 'select', label: 'Size', options: [{ id: 's', label: 'Small' }], store: 'keep' },
    { name: 'message', type: 'textarea', label: 'Message' },
  ],
  consent_text: 'You may write to me.',
  spam: { min_ms: 0 },
  consent_version: '2026-11',
};

test('a form appears in the place that the page reserved, names what is not right, and is sent once', async () => {
  world.pages['/'] = { body: '<div id="here" style="min-height:700px"></div><p>below</p>' };
  showOn(world, [handedOut('form', FORM)]);
  world.edge.replies['/v1/form'] = { accepted: 1, message: 'We got it.' };
  const context = await world.visitor();
  const page = await context.newPage();
  await watchShifts(page);
  await page.goto(world.shop);
  const email = page.getByLabel('E-mail');
  await email.waitFor();
  expect((await told(world, 'form', 1))[0]?.status).toBe('shown');
  expect(await shiftsOf(page)).toBe(0);
  const wrong = { error: { code: 'form_invalid', fields: [{ name: 'email', code: 'format' }] } };
  await page.route('**/v1/form?*', (route) =>
    route.fulfill({ status: 400, json: wrong, headers: { 'access-control-allow-origin': '*' } }),
  );
  await email.fill('me@mail.example');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForFunction(
    () => document.querySelector('svc-engage')?.shadowRoot?.querySelector(':invalid') !== null,
  );
  await page.unroute('**/v1/form?*');
  await email.fill('you@mail.example');
  await page.getByLabel('You may write to me.').check();
  await page.getByRole('button', { name: 'Send' }).dblclick();
  await page.getByText('We got it.').waitFor();
  const [, sent, ...more] = await told(world, 'form', 2);
  expect(sent).toMatchObject({
    fields: { email: 'you@mail.example', size: '', message: '' },
    consent: { process: true, text_version: '2026-11' },
  });
  expect(more).toEqual([]);
  await context.close();
});

test('without a reserved place nothing moves before the eyes: a form appears where its place is below the view', async () => {
  world.pages['/'] = { body: '<div id="top"></div><p style="height:3000px">shop</p><div id="here"></div>' };
  showOn(world, [handedOut('form', FORM), handedOut('form', { ...FORM, id: 'other', title: 'Top', mount: '#top' })]);
  const context = await world.visitor();
  const page = await context.newPage();
  await watchShifts(page);
  await page.goto(world.shop);
  const form = page.getByRole('region', { name: 'A quote' });
  await form.waitFor();
  expect(toldTo(world, 'form')).toEqual([]);
  await form.scrollIntoViewIfNeeded();
  expect((await told(world, 'form', 1))[0]?.status).toBe('shown');
  expect([await page.getByRole('region', { name: 'Top' }).count(), await shiftsOf(page)]).toEqual([0, 0]);
  await context.close();
});

const PROMO = {
  id: 'sale',
  place: 'banner',
  title: 'Winter sale',
  body: 'Everything must go.',
  code: 'WINTER20',
  button: { text: 'Look', url: '/next' },
};
const WRITTEN = {
  questions: SURVEY.questions.map((one) => ({
    ...one,
    ...(one.type === 'rating' && { display: 'star', scale: 5, branches: [] }),
  })),
};
const ARABIC = { ar: { title: 'سؤال واحد', 'questions.score.text': 'ما رأيك؟' } };

const SHOWN: Record<string, object> = {
  'a rating': handedOut('survey', SURVEY),
  stars: handedOut('survey', { ...SURVEY, ...WRITTEN, place: 'banner' }),
  'a text from right to left': handedOut('survey', { ...SURVEY, translations: ARABIC }, 'ar'),
  'choices in a modal': handedOut('survey', { ...CHOICE, place: 'modal' }),
  'several choices': handedOut('survey', { id: 'm', questions: [{ ...CHOICE.questions[0], type: 'multiple' }] }),
  'an open question': handedOut('survey', { id: 'o', questions: [SURVEY.questions[1]] }),
  'a link': handedOut('survey', {
    id: 'l',
    questions: [{ id: 'l', type: 'link', text: 'Read more?', url: '/next', button: 'More' }],
  }),
  'a promo': handedOut('promo', PROMO),
  'a form': handedOut('form', { ...FORM, place: 'popover' }),
};

test('axe-core finds nothing wrong with anything that is shown, wherever it is', async () => {
  world.pages['/'] = { body: '<main><h1>Shop</h1></main>' };
  const context = await world.visitor({ viewport: { width: 320, height: 640 } });
  const page = await context.newPage();
  const found: Record<string, string[]> = {};
  for (const [what, item] of Object.entries(SHOWN)) {
    showOn(world, [item]);
    await page.goto(world.shop);
    await page.locator('svc-engage .panel').waitFor();
    found[what] = await axeFinds(page);
  }
  expect(found).toEqual(Object.fromEntries(Object.keys(SHOWN).map((what) => [what, []])));
  await context.close();
});

test('the definition’s colours and direction hold, and the page’s own rule for a token goes before them', async () => {
  world.pages['/'] = { head: '<style>svc-engage{--svc-radius:3px} p{color:red}</style>' };
  const theme = { accent: '#800000', background: '#ffeeee', radius: '20px' };
  showOn(world, [handedOut('survey', { ...SURVEY, theme, translations: ARABIC }, 'ar')]);
  const context = await world.visitor();
  const page = await world.visit(context);
  const style = await page.locator('svc-engage .panel').evaluate((panel) => {
    const { backgroundColor, borderRadius, direction } = getComputedStyle(panel);
    const button = panel.querySelector('form button');
    return { backgroundColor, borderRadius, direction, button: button && getComputedStyle(button).backgroundColor };
  });
  expect(style).toEqual({
    backgroundColor: 'rgb(255, 238, 238)',
    borderRadius: '3px',
    direction: 'rtl',
    button: 'rgb(128, 0, 0)',
  });
  const { x } = (await page.locator('svc-engage .panel').boundingBox()) ?? { x: -1 };
  expect(x).toBe(16);
  await context.close();
});

test('after a reload a survey goes on where it was under its id, and what had no answer is sent again', async () => {
  showOn(world, [handedOut('survey', SURVEY)]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.getByRole('radio', { name: '3' }).check();
  await told(world, 'surveys/respond', 1);
  world.edge.answer = { kind: 'stall' };
  await page.getByRole('button', { name: 'Next' }).click();
  await told(world, 'surveys/respond', 2);
  world.edge.answer = { kind: 'take' };
  // The visitor was shown it as often as they may be: the edge has nothing more for them.
  showOn(world, []);
  await page.reload();
  await page.getByLabel('What was missing?').fill('Lamps');
  await page.getByRole('button', { name: 'Send' }).click();
  const all = await told(world, 'surveys/respond', 4);
  expect(all.map(({ status }) => status)).toEqual(['shown', 'partial', 'partial', 'completed']);
  expect(JSON.stringify(all[2])).toBe(JSON.stringify(all[1]));
  expect(new Set(all.map(({ submission_id }) => submission_id)).size).toBe(1);
  await page.reload();
  const [, , third] = await told(world, 'engage', 3);
  expect(third?.seen?.['survey:nps']).toMatchObject({ n: 1, done: expect.any(Number) });
  expect(await page.locator('svc-engage').count()).toBe(0);
  await context.close();
});

test('an event of the page makes an item appear, and one above the page is enough', async () => {
  const onEvent = { show: { on: 'event', event: 'quiz', after_ms: 50 } };
  showOn(world, [handedOut('promo', { ...PROMO, ...onEvent }), handedOut('survey', { ...SURVEY, ...onEvent })]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await told(world, 'engage', 1);
  await page.waitForTimeout(300);
  expect(await page.locator('svc-engage').count()).toBe(0);
  await page.evaluate(() => window.svc.track('quiz'));
  await page.getByText('Winter sale').waitFor();
  expect(await page.locator('svc-engage').count()).toBe(1);
  await page.getByRole('link', { name: 'Look' }).click();
  const all = await told(world, 'promos/track', 2);
  expect(all.map(({ action }) => action)).toEqual(['view', 'click']);
  expect(new Set(all.map(({ impression_id }) => impression_id)).size).toBe(1);
  await world.taken('quiz');
  await context.close();
});

const keptOn = (page: Page): Promise<string | null> => page.evaluate(() => localStorage.getItem('svc_e'));

test('without consent nothing is asked or kept, and what was kept goes when it is taken back', async () => {
  world.configure({ tag: { inventory: false, engage: true, consent: { required: true, queue: false } } });
  showOn(world, [handedOut('survey', SURVEY)]);
  const context = await world.visitor();
  const page = await world.visit(context);
  await page.waitForTimeout(500);
  expect([toldTo(world, 'engage'), await keptOn(page)]).toEqual([[], null]);
  await page.evaluate(() => window.svc.consent({ analytics: true, ads: false }));
  await told(world, 'surveys/respond', 1);
  expect(toldTo(world, 'engage')[0]?.visitor['consent']).toEqual({ analytics: true, ads: false });
  expect(await keptOn(page)).toContain('survey:nps');
  await page.evaluate(() => window.svc.consent({ analytics: false }));
  await page.waitForTimeout(500);
  expect([toldTo(world, 'surveys/respond').length, await keptOn(page)]).toEqual([1, null]);
  expect(await page.locator('svc-engage').count()).toBe(0);
  await context.close();
});

test('a site in offline mode says nothing of who looks, and keeps nothing', async () => {
  world.configure({ mode: 'offline', tag: { inventory: false, engage: true } });
  showOn(world, [handedOut('survey', SURVEY)]);
  const context = await world.visitor();
  const page = await world.visit(context, '/?email=me@mail.example&utm_source=letter&gclid=1#top');
  await told(world, 'surveys/respond', 1);
  for (const [one] of [await told(world, 'engage', 1), toldTo(world, 'surveys/respond')]) {
    expect(one?.page.url).toBe(`${world.shop}/?utm_source=letter`);
    expect(Object.keys(one?.visitor ?? {}).sort()).toEqual(['country', 'device', 'locale']);
  }
  expect(await page.evaluate(() => [localStorage.length, document.cookie])).toEqual([0, '']);
  await context.close();
});
