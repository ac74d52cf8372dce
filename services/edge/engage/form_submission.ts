// What becomes of a form: its fields are read, it is judged, and it becomes an event.
import { clientAddress, type HttpRequestIn } from '#infra/http/http_server.ts';
import {
  circumstancesProblem,
  formEvent,
  formStatusEvent,
  readFields,
  sentText,
} from '#pipelines/engage/engage_event.ts';
import type { FormRequest } from '#pipelines/engage/engage_request.ts';
import { type Challenge, checkEngageToken, type TokenCheck } from '#pipelines/engage/engage_token.ts';
import type { Form } from '#pipelines/engage/form.ts';
import { type ReadyItem, siteEngage } from '#pipelines/engage/site_engage.ts';
import {
  isWithoutToken,
  judgeAlone,
  judgeAmongOthers,
  linksIn,
  type SpamReason,
  type SpamVerdict,
  type Submission,
} from '#pipelines/engage/spam.ts';
import { itemName } from '#pipelines/engage/visitor_memory.ts';
import { canonicalJson } from '#pipelines/intake/json_text.ts';
import { hmacSha256 } from '#pipelines/privacy/hash_identifiers.ts';
import { networkOf, wideNetworkOf } from '#pipelines/privacy/ip_addresses.ts';
import { normaliseEmail } from '#pipelines/privacy/normalise_text.ts';
import type { EdgeContext } from '../edge_context.ts';
import { type Answer, errorAnswer, refusal } from '../errors.ts';
import type { IngestCaller } from '../ingest_service.ts';
import { readFormBody, type SentForm } from './form_body.ts';
import {
  acceptEngage,
  challengeFor,
  checkToken,
  countSubmission,
  digestOf,
  type EngageParts,
  type EngageRate,
  type Happened,
  invalidBody,
  textDigest,
} from './submission.ts';

interface FormProblem {
  name: string;
  code: string;
}

/** What became of a form. */
export type FormOutcome =
  | { kind: 'taken'; form: Form; accepted: number; eventId: string }
  | { kind: 'spam'; form: Form }
  /** Nothing is wrong with it but that too many came that can prove nothing. */
  | { kind: 'later'; form: Form }
  | { kind: 'challenge'; challenge: Challenge }
  /** `labels`: of the fields at fault, as the visitor knows them. */
  | {
      kind: 'invalid';
      form: Form;
      answer: Answer;
      problems: readonly FormProblem[];
      labels: string[];
      hasLinks: boolean;
    }
  | { kind: 'refused'; answer: Answer };

/** Judges forms and hands those that are no spam to the ingest service. */
export function createFormIntake(
  context: EdgeContext,
  rate: EngageRate,
  parts: EngageParts,
): (request: HttpRequestIn) => Promise<FormOutcome> {
  function spamOutcome(form: Form, reason: SpamReason): FormOutcome {
    parts.spam.found('form', reason);
    return { kind: 'spam', form };
  }

  async function accepted(request: HttpRequestIn, form: Form, happened: Happened): Promise<FormOutcome> {
    const taken = await acceptEngage(request, context.callerOf(request), [happened], rate, parts);
    if (!taken.ok) return { kind: 'refused', answer: taken.answer };
    return { kind: 'taken', form, accepted: taken.accepted, eventId: happened.event.uuid };
  }

  async function tell(
    request: HttpRequestIn,
    { form, token, version, submissionId, request: body }: SubmittedForm,
    status: 'shown' | 'dismissed',
  ): Promise<FormOutcome> {
    const reason = await checkToken(parts, context.callerOf(request), token, submissionId, body.visitor);
    if (reason !== null) return spamOutcome(form, reason);
    const event = formStatusEvent(form, status, version, submissionId, body);
    const notes = [{ kind: 'shown', name: itemName('form', form.id), id: submissionId } as const];
    return accepted(request, form, { event, notes, isAwaited: false });
  }

  async function submit(request: HttpRequestIn, sent: SubmittedForm): Promise<FormOutcome> {
    const { form, version, submissionId, request: body } = sent;
    const caller = context.callerOf(request);
    const { default_country: country } = caller.site;
    const read = readFields(form, body, country, sent.isOfOtherVersion);
    if (!read.ok) {
      const alone = judgeFormAlone(sent, { texts: [], messages: [] }, context.nowMs());
      return alone.kind === 'spam' ? spamOutcome(form, alone.reason) : invalidOutcome(form, read.problems);
    }
    const judged = await judgeForm(request, caller, sent, read, parts, context.nowMs());
    if (judged.kind === 'spam') return spamOutcome(form, judged.reason);
    if (judged.kind === 'links') return invalidOutcome(form, linkProblems(form, read.values), true);
    if (judged.kind === 'later') {
      parts.spam.found('form', judged.reason);
      return { kind: 'later', form };
    }
    if (judged.kind === 'challenge') {
      parts.spam.challenged();
      return judged;
    }
    const event = formEvent(form, read.values, body, { submissionId, version, secret: parts.identitySecret });
    const name = itemName('form', form.id);
    const shown = { kind: 'shown', name, id: submissionId } as const;
    return accepted(request, form, { event, notes: [shown, { kind: 'done', name }], isAwaited: true });
  }

  return async (request) => {
    const read = await readSent(request, context, parts);
    if (!read.ok) return { kind: 'refused', answer: read.answer };
    const { status = 'submitted' } = read.sent.request;
    return status === 'submitted' ? submit(request, read.sent) : tell(request, read.sent, status);
  };
}

type SentRead = { ok: true; sent: SubmittedForm } | { ok: false; answer: Answer };

/** A form that the site has, as it was sent. */
async function readSent(request: HttpRequestIn, context: EdgeContext, parts: EngageParts): Promise<SentRead> {
  const caller = context.callerOf(request);
  const siteId = caller.site.site_id;
  const read = await readFormBody(request, caller);
  if (!read.ok) return read;
  const nowMs = context.nowMs();
  const problem = circumstancesProblem(read.body.form, { receivedAtMs: nowMs, caller: caller.key.caller });
  if (problem !== null) return { ok: false, answer: invalidBody(problem) };
  const { byName } = siteEngage(context.table.engageItems(siteId));
  const item = byName.get(itemName('form', read.body.form.form_id));
  if (item === undefined) return { ok: false, answer: refusal('engage_unknown') };
  return { ok: true, sent: submittedForm(request, siteId, item, read.body, parts.secret, nowMs) };
}

function submittedForm(
  request: HttpRequestIn,
  siteId: string,
  item: ReadyItem,
  { form: body, isPlain }: SentForm,
  secret: Buffer,
  nowMs: number,
): SubmittedForm {
  const form = item.definition as Form;
  const version = body.version ?? item.version;
  const token = checkEngageToken(secret, { siteId, name: item.name, version }, body.token ?? '', nowMs);
  const submissionId = body.submission_id?.toLowerCase() ?? derivedId(request, siteId, body, secret);
  const isOfOtherVersion = token.ok && version !== item.version;
  const email = emailOf(form, body);
  return { form, request: body, isPlain, siteId, version, isOfOtherVersion, submissionId, token, email };
}

/** The id of a form that has none, as a plain one: the same from the same device is the same. */
function derivedId(request: HttpRequestIn, siteId: string, { form_id, fields }: FormRequest, secret: Buffer): string {
  const device = `${networkOf(clientAddress(request))}\0${request.headers['user-agent'] ?? ''}`;
  const facts = canonicalJson([siteId, form_id, device, fields ?? {}]);
  const hex = hmacSha256(secret, `submission\0${facts}`).toString('hex').slice(0, 32);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function emailOf(form: Form, { fields }: FormRequest): string | null {
  const field = form.fields.find(({ map, type }) => map === 'email' || type === 'email');
  return field === undefined ? null : normaliseEmail(sentText(fields, field.name));
}

function linkProblems(form: Form, values: ReadonlyMap<string, string>): FormProblem[] {
  const messages = form.fields.filter(({ type, name }) => type === 'textarea' && linksIn(values.get(name) ?? '') > 0);
  return messages.map(({ name }) => ({ name, code: 'format' }));
}

function invalidOutcome(form: Form, problems: readonly FormProblem[], hasLinks = false): FormOutcome {
  const { status, body } = errorAnswer('form_invalid');
  const labels = problems.map(({ name }) => labelOf(form, name));
  const answer = { status, body: { error: { ...body.error, fields: problems } } };
  return { kind: 'invalid', form, problems, labels, hasLinks, answer };
}

/** What the visitor reads beside a field; beside the box for consent it is what they agree to. */
function labelOf({ fields, consent_text }: Form, name: string): string {
  const label = fields.find((field) => field.name === name)?.label ?? consent_text;
  return label === '' ? name : label;
}

/** A form as it was sent, with what is known of it before it is judged. */
interface SubmittedForm {
  form: Form;
  request: FormRequest;
  /** Sent by a browser without a script. */
  isPlain: boolean;
  siteId: string;
  version: number;
  /** The token proves that the visitor saw another version than the form is in now. */
  isOfOtherVersion: boolean;
  submissionId: string;
  token: TokenCheck;
  /** Normalised; null: none. */
  email: string | null;
}

type FormJudgement =
  | { kind: 'clean' }
  | { kind: 'links' }
  | { kind: 'later' | 'spam'; reason: SpamReason }
  | { kind: 'challenge'; challenge: Challenge };

/** What a visitor wrote, as far as it can be read; nothing where a field is not right. */
type Written = Pick<Submission, 'texts' | 'messages'>;

/** What a form says by itself, before it is counted: so a form that is not right uses up nothing. */
function judgeFormAlone(sent: SubmittedForm, { texts, messages }: Written, nowMs: number): SpamVerdict {
  const { form, request, isPlain: withoutScript, token, email } = sent;
  const emailDomain = email?.slice(email.lastIndexOf('@') + 1) ?? null;
  const honeypot = rawText(request.fields, form.spam.honeypot);
  return judgeAlone(form, { withoutScript, token, honeypot, texts, messages, emailDomain, nowMs });
}

/** Whether a form that is right is spam; where there is doubt, a script is asked for a proof, and a plain form can bring none. */
async function judgeForm(
  request: HttpRequestIn,
  caller: IngestCaller,
  sent: SubmittedForm,
  written: Written,
  parts: EngageParts,
  nowMs: number,
): Promise<FormJudgement> {
  const alone = judgeFormAlone(sent, written, nowMs);
  const verdict =
    alone.kind === 'clean' || alone.kind === 'doubt'
      ? await amongOthers(request, caller, sent, alone, written, parts)
      : alone;
  if (verdict.kind !== 'doubt') return verdict;
  const { form, submissionId, request: body, isPlain } = sent;
  const challenge = form.spam.challenge === 'off' ? null : challengeFor(parts, submissionId, body.challenge, nowMs);
  if (challenge === null) return { kind: 'clean' };
  return isPlain ? { kind: 'later', reason: 'challenge_missing' } : { kind: 'challenge', challenge };
}

async function amongOthers(
  request: HttpRequestIn,
  caller: IngestCaller,
  { form, request: body, isPlain: withoutScript, submissionId, token, email }: SubmittedForm,
  alone: SpamVerdict,
  { texts }: Written,
  parts: EngageParts,
): Promise<SpamVerdict> {
  const { secret, addressOf } = parts;
  const address = addressOf(clientAddress(request));
  const isCounted = isWithoutToken({ withoutScript, token });
  const counts = await countSubmission(
    parts,
    caller,
    { token, submissionId, visitor: body.visitor },
    {
      address,
      email: email === null ? null : digestOf(secret, email),
      text: textDigest(secret, texts),
      network: isCounted && address !== null ? digestOf(secret, wideNetworkOf(clientAddress(request))) : null,
      form: isCounted ? form.id : null,
    },
  );
  const among: SpamVerdict = counts === null ? { kind: 'clean' } : judgeAmongOthers({ token, withoutScript }, counts);
  return among.kind === 'clean' ? alone : among;
}

/** What a field says that nobody sees: whatever is in it, a space too. */
function rawText(fields: FormRequest['fields'], name: string): string {
  const value = fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : null;
  return String(value ?? '');
}
