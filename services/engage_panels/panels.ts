// The content of the three kinds of panels: surveys, forms, banners.
import type { PanelWords } from '#pipelines/engage/content.ts';
import { nextQuestion } from '#pipelines/engage/next_question.ts';
import { element, type Panel, textBlock } from './panel_frame.ts';
import type {
  Answer,
  FormContent,
  FormField,
  PromoContent,
  Question,
  SurveyContent,
  SurveyProgress,
} from './shown_item.ts';

/** So long after a question came a click may be the second of two on the one before. */
const DOUBLE_CLICK_MS = 500;
const FACES = ['😞', '🙁', '😐', '🙂', '😀'];

/**
 * Asks a survey's questions one after the other, from where the visitor was.
 *
 * @param went is told of each answer, and whether it was the last.
 * @param close where nothing is said at the end.
 */
export function showSurvey(
  panel: Panel,
  { title, questions, thanks }: SurveyContent,
  words: PanelWords,
  from: SurveyProgress | undefined,
  went: (isLast: boolean, progress: SurveyProgress) => void,
  close: () => void,
): void {
  let { at, answers, revision = 0 } = from ?? { at: 0, answers: {} };

  function answered(question: Question, answer: Answer | undefined): void {
    answers = { ...answers };
    revision += 1;
    delete answers[question.id];
    if (answer !== undefined) answers[question.id] = answer;
    const next = nextQuestion(questions, question, answer);
    if (next >= 0) at = next;
    went(next < 0, { at, answers, revision });
    if (next < 0) end();
    else ask(questions[next]);
  }
  function ask(question = questions[at]): void {
    if (!question) return;
    const { type, button, last } = question;
    const label = (type !== 'link' && button) || (last ? words.send : words.next);
    const form = questionForm(question, words, label, (answer) => answered(question, answer));
    panel.fill(textBlock('h2', title), form);
  }
  function end(): void {
    const { title: heading, text } = thanks;
    if (!heading && !text) close();
    panel.fill(textBlock('h2', heading), textBlock('p', text));
  }
  ask();
}

function questionForm(
  question: Question,
  words: PanelWords,
  button: string,
  answered: (answer: Answer | undefined) => void,
): HTMLFormElement {
  let isSent = false;
  const askedMs = performance.now();
  const submit = element('button', {}, button);
  const onsubmit = (event: Event): void => {
    event.preventDefault();
    const data = new FormData(form);
    const answer = answerOf(question, data.getAll('a') as string[], (data.get('t') ?? '') as string);
    const isMissing = answer === undefined;
    if (isSent || (isMissing && performance.now() - askedMs < DOUBLE_CLICK_MS)) return;
    // Of several boxes, of words that go with a choice and of a link the browser itself requires nothing.
    if (isMissing && question.required) {
      submit.setCustomValidity(words.choose);
      submit.reportValidity();
      return;
    }
    isSent = true;
    answered(answer);
  };
  const onclick = (): void => submit.setCustomValidity('');
  const form: HTMLFormElement = element('form', { onsubmit, onclick }, ...questionParts(question, words), submit);
  return form;
}

function questionParts(question: Question, words: PanelWords): (Node | string | false)[] {
  const { type, text, description, required, url, button, max_length: maxLength } = question;
  const more = textBlock('p', description);
  if (type === 'open') {
    const field = element('textarea', { name: 't', rows: 4, maxLength, required });
    return [element('label', {}, element('b', { textContent: text }), more, field)];
  }
  if (type === 'link') {
    const followed = element('input', { type: 'hidden', name: 'a', value: '1', disabled: true });
    // To follow it is the answer: nothing else would tell if the visitor does not come back. The browser needs it until then.
    const onclick = (): void => {
      followed.disabled = false;
      // Where a browser cannot, the visitor still has the button.
      setTimeout(() => followed.form?.requestSubmit?.());
    };
    const link = { className: 'button', href: url, target: '_blank', rel: 'noopener', onclick };
    return [textBlock('p', text), more, element('a', link, button || url), followed];
  }
  const parts = type === 'rating' ? ratingParts(question) : choiceParts(question, words);
  return [element('fieldset', {}, element('legend', { textContent: text }), more, ...parts)];
}

function ratingParts(question: Question): Node[] {
  const { display, low_label: low, high_label: high, required } = question;
  const steps = stepsOf(question);
  const last = steps.length - 1;
  // Of many steps faces tell nothing apart.
  const look = display === 'emoji' && last >= FACES.length ? 'number' : display;
  const labels = steps.map((step, index) => {
    const face = FACES[Math.round((index * 4) / last)] ?? '';
    const shown = { number: `${step}`, star: '★', emoji: face }[look];
    const ariaLabel = `${step} ${index === 0 ? low : index === last ? high : ''}`;
    const input = element('input', { type: 'radio', name: 'a', value: `${step}`, required, ariaLabel });
    return element('label', {}, input, element('span', { ariaHidden: 'true' }, shown));
  });
  const ends = element('p', { className: 'row' }, element('span', {}, low), element('span', {}, high));
  return [element('div', { className: `steps ${look}` }, ...labels), ends];
}

function choiceParts(
  { type, choices, open_choice, shuffle, required, max_length }: Question,
  words: PanelWords,
): Node[] {
  const isSingle = type === 'single';
  const kind = { type: isSingle ? 'radio' : 'checkbox', name: 'a', required: required && isSingle };
  const boxes = (shuffle ? shuffled(choices) : choices).map(({ id, label }) =>
    element('label', { className: 'choice' }, element('input', { ...kind, value: id }), label),
  );
  if (!open_choice) return boxes;
  const other = element('input', { ...kind, value: '' });
  const text = element('input', { name: 't', ariaLabel: words.other, maxLength: max_length });
  text.oninput = () => {
    other.checked = text.value !== '';
  };
  return [...boxes, element('label', { className: 'choice' }, other, words.other), text];
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  const keyed = items.map((item) => ({ item, key: Math.random() }));
  return keyed.sort((one, another) => one.key - another.key).map(({ item }) => item);
}

/** What was chosen and written as an answer; undefined: nothing. */
export function answerOf(
  { type, open_choice }: Question,
  chosen: readonly string[],
  written: string,
): Answer | undefined {
  const text = written.trim();
  if (type === 'open') return text || undefined;
  if (type === 'link') return chosen.length > 0 || undefined;
  if (type === 'rating') return chosen[0] === undefined ? undefined : Number(chosen[0]);
  // The visitor's own answer has no id.
  const answers = chosen.map((id) => id || (open_choice ? text : '')).filter((one) => one);
  if (type === 'single') return answers[0];
  return answers.length > 0 ? answers : undefined;
}

/** The steps of a rating, from the lowest. */
export const stepsOf = ({ scale }: { scale: number }): number[] =>
  Array.from({ length: scale }, (_, at) => (scale === 11 ? at : at + 1));

/** What a visitor filled in. */
interface FilledForm {
  fields: Record<string, string | boolean>;
  consent?: { process: boolean; text_version?: string };
}

/** What became of a form: taken, not right in these fields, not yet sent, which is heard before the others, or not taken at all. */
type FormResult =
  | [kind: 'taken', message: string]
  | [kind: 'invalid', names: string[]]
  | [kind: 'later' | 'failed', nothing?: undefined];

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Shows a form. `send` is called once for each time it is sent, and not again before it is settled. */
export function showForm(
  panel: Panel,
  content: FormContent,
  words: PanelWords,
  send: (filled: FilledForm, settled: (...result: FormResult) => void) => void,
): void {
  const { title, body, fields, button, consent_text, consent_required, honeypot } = content;
  const controls = new Map(fields.map((field) => [field.name, control(field)]));
  const consent = consent_text !== '' && element('input', { type: 'checkbox', required: consent_required });
  // Nobody sees it, and only programs fill it in; it is not hidden in a way that those look for.
  const trap = element('input', { name: honeypot, tabIndex: -1, autocomplete: 'off', ariaHidden: 'true' });
  const submit = element('button', {}, button || words.send);
  const labels = [...controls.values()].map((one, at) => labelled(one, fields[at]?.label ?? ''));
  const hidden = element('div', { className: 'trap', ariaHidden: 'true' }, trap);
  const problem = element('p', { role: 'alert' });
  // A button that is disabled loses the focus, and what is said then would be out of view on a high form.
  let isSending = false;
  function settled(...[kind, more]: FormResult): void {
    isSending = kind === 'later';
    // What was filled in stays: the visitor may copy it, shorten it, or try again.
    problem.textContent = kind === 'later' || kind === 'failed' ? words[kind] : '';
    if (kind === 'taken') panel.fill(textBlock('p', more || words.thanks));
    if (kind === 'invalid') {
      for (const name of more) (controls.get(name) ?? (consent || submit)).setCustomValidity(words.check);
      form.reportValidity();
    }
  }
  const oninput = ({ target }: Event): void => (target as Control).setCustomValidity('');
  const onclick = (): void => submit.setCustomValidity('');
  const onsubmit = (event: Event): void => {
    event.preventDefault();
    if (isSending) return;
    isSending = true;
    problem.textContent = words.sending;
    send(filledIn(controls, consent, content, trap.value), settled);
  };
  const parts = [...labels, consent && labelled(consent, consent_text), hidden, problem, submit];
  const form = element('form', { onsubmit, oninput, onclick }, ...parts);
  panel.fill(textBlock('h2', title), textBlock('p', body), form);
}

function filledIn(
  controls: ReadonlyMap<string, Control>,
  consent: HTMLInputElement | false,
  { honeypot, consent_version }: FormContent,
  trapped: string,
): FilledForm {
  const values = [...controls].map(([name, one]): [string, string | boolean] => [name, said(one)]);
  const version = consent_version && { text_version: consent_version };
  return {
    fields: { ...Object.fromEntries(values), ...(trapped && { [honeypot]: trapped }) },
    ...(consent && { consent: { process: consent.checked, ...version } }),
  };
}
const isBox = ({ type }: Control): boolean => type === 'checkbox';

const said = (one: Control): string | boolean => (isBox(one) ? (one as HTMLInputElement).checked : one.value);

function labelled(one: Control, label: string): HTMLLabelElement {
  return isBox(one) ? element('label', { className: 'choice' }, one, label) : element('label', {}, label, one);
}

function control({ name, type, placeholder, required, max_length: maxLength, options }: FormField): Control {
  if (type === 'select') {
    const choices = options.map(({ id, label }) => element('option', { value: id }, label));
    return element('select', { name, required }, element('option', { value: '' }), ...choices);
  }
  if (type === 'textarea') return element('textarea', { name, required, placeholder, maxLength, rows: 4 });
  const autocomplete = type === 'email' || type === 'tel' ? type : '';
  return element('input', { name, type, required, placeholder, autocomplete, maxLength, step: 'any' });
}

/** Loads a promo's picture, so that nothing moves when it comes; undefined where there is none, or it does not come. */
export async function pictureOf({ image_url, image_alt }: PromoContent): Promise<HTMLImageElement | undefined> {
  if (!image_url) return undefined;
  const picture = element('img', { alt: image_alt, referrerPolicy: 'no-referrer', src: image_url });
  return picture.decode().then(
    () => picture,
    () => undefined,
  );
}

/** Shows a promo. */
export function showPromo(
  panel: Panel,
  { title, body, button, code }: PromoContent,
  picture: HTMLImageElement | undefined,
  words: PanelWords,
  did: (action: 'click' | 'copy_code') => void,
): void {
  const link = element('a', { className: 'button', href: button.url, onclick: () => did('click') }, button.text);
  const copy = element('button', { ariaLive: 'polite' }, words.copy);
  copy.onclick = () => {
    const done = (): void => {
      copy.textContent = words.copied;
      did('copy_code');
    };
    // Where the browser does not let it, the visitor can still select the text.
    navigator.clipboard?.writeText(code).then(done, () => undefined);
  };
  panel.fill(
    textBlock('h2', title),
    picture ?? false,
    textBlock('p', body),
    code !== '' && element('div', { className: 'row' }, element('code', {}, code), copy),
    button.url !== '' && link,
  );
}
