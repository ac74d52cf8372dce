import { nextQuestion } from '#pipelines/engage/next_question.ts';
import { element, textBlock } from './build_element.ts';
import { answerOf, stepsOf } from './given_answer.ts';
import type { Panel } from './panel_frame.ts';
import type { Answer, Question, SurveyContent, SurveyProgress, Words } from './shown_item.ts';

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
  words: Words,
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
  words: Words,
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

function questionParts(question: Question, words: Words): (Node | string | false)[] {
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

function choiceParts({ type, choices, open_choice, shuffle, required, max_length }: Question, words: Words): Node[] {
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
