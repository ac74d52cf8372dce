import { element, textBlock } from './build_element.ts';
import type { Panel } from './panel.ts';
import type { FormContent, FormField, Words } from './shown_item.ts';

/** What a visitor filled in. */
export interface FilledForm {
  fields: Record<string, string | boolean>;
  consent?: { process: boolean; text_version?: string };
}

/** What became of a form: taken, not right in these fields, not yet sent, or not taken at all. */
export type FormResult =
  | { kind: 'taken'; message: string }
  | { kind: 'invalid'; names: string[] }
  | { kind: 'later' }
  | { kind: 'failed' };

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Shows a form. `send` is called once for each time it is sent, and not again before the answer. */
export function showForm(
  panel: Panel,
  content: FormContent,
  words: Words,
  send: (filled: FilledForm) => Promise<FormResult>,
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
  function settled(result: FormResult): void {
    isSending = false;
    // What was filled in stays: the visitor may copy it, shorten it, or try again.
    if (result.kind === 'failed') {
      problem.textContent = words.failed;
      return;
    }
    if (result.kind === 'invalid') {
      for (const name of result.names) (controls.get(name) ?? (consent || submit)).setCustomValidity(words.check);
      form.reportValidity();
      return;
    }
    const text = result.kind === 'taken' ? result.message || words.thanks : words.later;
    panel.fill(textBlock('p', text));
  }
  const oninput = ({ target }: Event): void => (target as Control).setCustomValidity('');
  const onclick = (): void => submit.setCustomValidity('');
  const onsubmit = (event: Event): void => {
    event.preventDefault();
    if (isSending) return;
    isSending = true;
    problem.textContent = '';
    send(filledIn(controls, consent, content, trap.value)).then(settled, () => settled({ kind: 'later' }));
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

const said = (one: Control): string | boolean => (isBox(one) ? (one as HTMLInputElement).checked : one.value);
const isBox = ({ type }: Control): boolean => type === 'checkbox';

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
