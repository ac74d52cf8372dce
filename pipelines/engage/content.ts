// What a browser is told of a definition, and the words around it.
import { COMMON_FIELDS, type EngageKind } from './definition_fields.ts';
import type { Definition, Promo } from './definition_problems.ts';
import { type Form, MARKETING_FIELD } from './form.ts';
import type { Question, Survey } from './survey.ts';

/** What of a definition is for the server alone, or stands beside its content. */
const SERVERS: ReadonlySet<string> = new Set([
  ...Object.keys(COMMON_FIELDS),
  ...['spam', 'conversion_event', 'value', 'currency', 'redirect_invalid', 'marketing_text'],
]);

/**
 * What a visitor's browser is told of a definition, as JSON without the closing brace, so that the token can follow. It
 * says nothing of who is meant, of what becomes of a form's fields, or of other languages.
 */
export function contentOf(kind: EngageKind, version: number, definition: Definition, locale: string): string {
  const { translations, id, show, place, mount, theme } = definition;
  const texts = Object.hasOwn(translations, locale) ? (translations[locale] ?? {}) : {};
  const shown = translated(definition, texts);
  const content = Object.fromEntries(Object.entries(shown).filter(([field]) => !SERVERS.has(field)));
  const more = moreOf(kind, shown);
  const panel = { dir: directionOf(locale), label: labelOf(kind, shown), words: panelWords(locale) };
  const answer = { kind, id, version, locale, show, place, mount, theme, ...panel, content: { ...content, ...more } };
  return JSON.stringify(answer).slice(0, -1);
}

/** What a panel is called by those who do not see it. */
function labelOf(kind: EngageKind, shown: Definition): string {
  if (shown.title !== '') return shown.title;
  if (kind === 'survey') return (shown as Survey).questions[0]?.text ?? '';
  const { body } = shown as Promo | Form;
  if (body !== '') return body;
  if (kind === 'promo') return (shown as Promo).image_alt;
  const { button, fields } = shown as Form;
  return button || (fields[0]?.label ?? '');
}

/** What stands in a browser's content in the place of the definition's own. */
function moreOf(kind: EngageKind, shown: Definition): object {
  if (kind === 'form') return formContent(shown as Form);
  return kind === 'survey' ? { questions: (shown as Survey).questions.map(questionContent) } : {};
}

/**
 * A form that a script shows has no hidden fields, as nothing of the page fills them in. What has to be filled in is marked,
 * and what marketing is agreed to by is a box more.
 */
function formContent({ fields, spam, consent_text, consent_required, marketing_text }: Form): object {
  const marked = (text: string, required: boolean): string => (required && text !== '' ? `${text} *` : text);
  const shownFields = fields
    .filter(({ type }) => type !== 'hidden')
    .map(({ map: _map, store: _store, ...field }) => ({ ...field, label: marked(field.label, field.required) }));
  const box = {
    ...{ name: MARKETING_FIELD, type: 'checkbox', label: marketing_text, placeholder: '', required: false },
    ...{ max_length: 1, options: [] },
  };
  return {
    fields: [...shownFields, ...(marketing_text === '' ? [] : [box])],
    consent_text: marked(consent_text, consent_required),
    honeypot: spam.honeypot,
    min_ms: spam.min_ms,
  };
}

/** With what comes next stated, and whether the survey ends here whatever is answered, so that the button can say so. */
function questionContent(question: Question, at: number, all: readonly Question[]): object {
  const next = question.next || (all[at + 1]?.id ?? 'end');
  const last = [next, ...question.branches.map(({ go_to }) => go_to)].every((target) => target === 'end');
  return { ...question, next, last };
}

const PANEL_WORD_NAMES = [
  'close',
  'next',
  'send',
  'sending',
  'other',
  'choose',
  'copy',
  'copied',
  'thanks',
  'later',
  'check',
  'failed',
] as const;

/** What a panel says by itself, by its name. */
export type PanelWords = Readonly<Record<(typeof PANEL_WORD_NAMES)[number], string>>;

/** In the order of NAMES. */
const PANEL_WORDS = {
  en: 'Close|Next|Send|Sending…|Other|Please choose an answer|Copy|Copied|Thank you|It is sent as soon as you are online again|Please check this|It could not be sent',
  de: 'Schließen|Weiter|Senden|Wird gesendet…|Andere|Bitte wählen Sie eine Antwort|Kopieren|Kopiert|Vielen Dank|Wird gesendet, sobald Sie wieder online sind|Bitte prüfen Sie dies|Konnte nicht gesendet werden',
  fr: 'Fermer|Suivant|Envoyer|Envoi en cours…|Autre|Veuillez choisir une réponse|Copier|Copié|Merci|Sera envoyé dès que vous serez de nouveau en ligne|Veuillez vérifier|Échec de l’envoi',
  nl: 'Sluiten|Volgende|Versturen|Wordt verstuurd…|Anders|Kies een antwoord|Kopiëren|Gekopieerd|Bedankt|Wordt verstuurd zodra u weer online bent|Controleer dit|Versturen is niet gelukt',
  es: 'Cerrar|Siguiente|Enviar|Enviando…|Otro|Elija una respuesta|Copiar|Copiado|Gracias|Se enviará cuando vuelva a tener conexión|Revise esto|No se pudo enviar',
  it: 'Chiudi|Avanti|Invia|Invio in corso…|Altro|Scegli una risposta|Copia|Copiato|Grazie|Verrà inviato appena sarai di nuovo online|Controlla qui|Invio non riuscito',
  pt: 'Fechar|Seguinte|Enviar|A enviar…|Outro|Escolha uma resposta|Copiar|Copiado|Obrigado|Será enviado quando estiver novamente online|Verifique isto|Não foi possível enviar',
  pl: 'Zamknij|Dalej|Wyślij|Wysyłanie…|Inne|Wybierz odpowiedź|Kopiuj|Skopiowano|Dziękujemy|Zostanie wysłane, gdy znów będziesz online|Sprawdź to pole|Nie udało się wysłać',
  ar: 'إغلاق|التالي|إرسال|جارٍ الإرسال…|أخرى|يرجى اختيار إجابة|نسخ|تم النسخ|شكرًا لك|سيتم الإرسال عند عودة الاتصال|يرجى التحقق من هذا|تعذّر الإرسال',
} as const;

/** What no definition has a text for, in a language, else in English. */
export function panelWords(locale: string): PanelWords {
  return wordsIn(PANEL_WORDS, PANEL_WORD_NAMES, locale);
}

const RIGHT_TO_LEFT: ReadonlySet<string> = new Set(['ar', 'ckb', 'dv', 'fa', 'he', 'ps', 'sd', 'ug', 'ur', 'yi']);

/** The direction that a language is written in. */
export function directionOf(locale: string): 'rtl' | 'ltr' {
  return RIGHT_TO_LEFT.has(locale.split('-')[0] ?? '') ? 'rtl' : 'ltr';
}

const PLAIN_WORD_NAMES = ['failed', 'later', 'unknown', 'links', 'notNow'] as const;

/** What the page after a plain form says where it was not taken, by its name. */
type PlainWords = Readonly<Record<(typeof PLAIN_WORD_NAMES)[number], string>>;

/** In the order of NAMES. */
const PLAIN_WORDS = {
  en: 'The form could not be sent|Please try again in a few minutes|This form is no longer there|Please leave out links|Please try again later',
  de: 'Das Formular konnte nicht gesendet werden|Bitte versuchen Sie es in einigen Minuten noch einmal|Dieses Formular gibt es nicht mehr|Bitte lassen Sie Links weg|Bitte versuchen Sie es später noch einmal',
  fr: 'Le formulaire n’a pas pu être envoyé|Veuillez réessayer dans quelques minutes|Ce formulaire n’existe plus|Veuillez ne pas mettre de liens|Veuillez réessayer plus tard',
  nl: 'Het formulier kon niet worden verstuurd|Probeer het over enkele minuten opnieuw|Dit formulier bestaat niet meer|Laat links weg|Probeer het later opnieuw',
  es: 'No se pudo enviar el formulario|Vuelva a intentarlo dentro de unos minutos|Este formulario ya no existe|No incluya enlaces|Vuelva a intentarlo más adelante',
  it: 'Non è stato possibile inviare il modulo|Riprovi tra qualche minuto|Questo modulo non esiste più|Non inserisca link|Riprovi più tardi',
  pt: 'Não foi possível enviar o formulário|Tente novamente dentro de alguns minutos|Este formulário já não existe|Não inclua ligações|Tente novamente mais tarde',
  pl: 'Nie udało się wysłać formularza|Spróbuj ponownie za kilka minut|Ten formularz już nie istnieje|Prosimy nie podawać linków|Spróbuj ponownie później',
  ar: 'تعذر إرسال النموذج|يرجى المحاولة مرة أخرى بعد بضع دقائق|هذا النموذج لم يعد موجودًا|يرجى عدم إدراج روابط|يرجى المحاولة مرة أخرى لاحقًا',
} as const;

/** The words in a language, else in English. */
export function plainWords(locale: string): PlainWords {
  return wordsIn(PLAIN_WORDS, PLAIN_WORD_NAMES, locale.toLowerCase());
}

/** The first language of an Accept-Language header that the words are in, else English: the page says nothing else. */
export function plainLanguage(accepted: string | undefined): string {
  const asked = (accepted ?? '').split(',', 20).map((one) => one.split(/[;-]/, 1)[0]?.trim().toLowerCase() ?? '');
  return asked.find((language) => Object.hasOwn(PLAIN_WORDS, language)) ?? 'en';
}

/**
 * The words in the language of a locale, else in English.
 *
 * @param words by language, in the order of `names`, with `|` between.
 */
function wordsIn<Name extends string>(
  words: Readonly<{ en: string } & Record<string, string>>,
  names: readonly Name[],
  locale: string,
): Readonly<Record<Name, string>> {
  const [language = ''] = locale.split('-');
  const own = (Object.hasOwn(words, language) ? words[language] : undefined) ?? words.en;
  const texts = own.split('|');
  return Object.fromEntries(names.map((name, at) => [name, texts[at] ?? ''])) as Record<Name, string>;
}

/** Fields whose text visitors read, in whatever object they stand. */
const SHOWN: ReadonlySet<string> = new Set([
  'title',
  'text',
  'body',
  'description',
  'label',
  'low_label',
  'high_label',
  'button',
  'placeholder',
  'image_alt',
  'consent_text',
  'marketing_text',
  'message',
]);
/** Parts of a definition that visitors do not read. */
const UNSHOWN: ReadonlySet<string> = new Set(['theme', 'translations', 'targeting', 'frequency', 'show', 'spam']);

type Json = Record<string, unknown>;

/** Names of the texts that visitors read, as `questions.q1.choices.yes.label`: a list's items go by id or name. */
export function shownTextNames(definition: object): Set<string> {
  const names = new Set<string>();
  visit(definition as Json, '', (name) => void names.add(name));
  return names;
}

/** The definition with the texts that a translation has in the place of its own; the others stay. */
function translated<Definition extends object>(
  definition: Definition,
  translation: Readonly<Record<string, string>>,
): Definition {
  const copy = structuredClone(definition);
  visit(copy as Json, '', (name, object, key) => {
    if (Object.hasOwn(translation, name)) object[key] = translation[name];
  });
  return copy;
}

function visit(object: Json, path: string, see: (name: string, object: Json, key: string) => void): void {
  for (const [key, value] of Object.entries(object)) {
    if (path === '' && UNSHOWN.has(key)) continue;
    if (typeof value === 'string') {
      if (SHOWN.has(key)) see(path + key, object, key);
    } else if (Array.isArray(value)) {
      for (const item of value) if (isObject(item)) visit(item, `${path}${key}.${itemName(item)}.`, see);
    } else if (isObject(value)) visit(value, `${path}${key}.`, see);
  }
}

/** What an item of a list is called in the names of its texts; empty where it has neither an id nor a name. */
export function itemName(item: Readonly<Json>): string {
  const name = item['id'] ?? item['name'];
  return typeof name === 'string' ? name : '';
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
