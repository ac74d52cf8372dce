/*
 * What POST /v1/engage answers, as pipelines/engage/content.ts makes it. All defaults are filled in there.
 */

/** An answer: a text, a step, choice ids or words of the visitor's own, true for a link that was followed. */
export type Answer = string | number | boolean | string[];

export interface Branch {
  is: 'equals' | 'in' | 'at_most' | 'at_least' | 'answered' | 'skipped';
  to: (string | number)[];
  /** A question, or `end`. */
  go_to: string;
}

export interface Question {
  id: string;
  type: 'open' | 'rating' | 'single' | 'multiple' | 'link';
  text: string;
  description: string;
  required: boolean;
  /** Steps from 1; 11 are 0 to 10. */
  scale: number;
  display: 'number' | 'emoji' | 'star';
  low_label: string;
  high_label: string;
  choices: { id: string; label: string }[];
  open_choice: boolean;
  shuffle: boolean;
  max_length: number;
  url: string;
  button: string;
  branches: Branch[];
  /** A question, or `end`. */
  next: string;
  /** The survey ends here, whatever is answered. */
  last: boolean;
}

export interface SurveyContent {
  title: string;
  questions: Question[];
  thanks: { title: string; text: string };
}

/** How far a visitor is in a survey. */
export interface SurveyProgress {
  /** Place of the question that is asked. */
  at: number;
  /** By question id, in the order in which they were given. */
  answers: Record<string, Answer>;
  /** How often an answer was given, also once more to one question. */
  revision?: number;
}

export interface PromoContent {
  title: string;
  body: string;
  image_url: string;
  image_alt: string;
  button: { text: string; url: string };
  code: string;
}

export interface FormField {
  name: string;
  type: 'text' | 'email' | 'tel' | 'number' | 'select' | 'checkbox' | 'textarea';
  label: string;
  placeholder: string;
  required: boolean;
  max_length: number;
  options: { id: string; label: string }[];
}

export interface FormContent {
  title: string;
  body: string;
  fields: FormField[];
  button: string;
  consent_text: string;
  consent_required: boolean;
  consent_version: string;
  message: string;
  honeypot: string;
  /** Nobody fills it in faster. */
  min_ms: number;
}

/** What makes an item appear. */
export interface Show {
  on: 'load' | 'exit' | 'scroll' | 'event' | 'click';
  after_ms: number;
  scroll_percent: number;
  event: string;
  selector: string;
}

/** What a panel says by itself (pipelines/engage/content.ts). */
export type Words = Record<
  | 'close'
  | 'next'
  | 'send'
  | 'sending'
  | 'other'
  | 'choose'
  | 'copy'
  | 'copied'
  | 'thanks'
  | 'later'
  | 'check'
  | 'failed',
  string
>;

interface Item<Kind, Content> {
  kind: Kind;
  id: string;
  version: number;
  /** The language of its texts. */
  locale: string;
  show: Show;
  place: 'popover' | 'banner' | 'inline' | 'modal';
  mount: string;
  theme: Record<string, string>;
  dir: 'ltr' | 'rtl';
  /** What its panel is called by those who do not see it. */
  label: string;
  words: Words;
  content: Content;
  token: string;
}
export type SurveyItem = Item<'survey', SurveyContent>;
export type PromoItem = Item<'promo', PromoContent>;
export type FormItem = Item<'form', FormContent>;
export type ShownItem = SurveyItem | PromoItem | FormItem;

/** How an item is called where both kind and id are needed: `survey:nps`. */
export const nameOf = ({ kind, id }: ShownItem): string => `${kind}:${id}`;
