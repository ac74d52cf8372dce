import type { Answer, NoAnswerReason } from '#pipelines/delivery/contract.ts';
import { answered } from '#test/unit/delivery/harness.ts';
import type { AnswerCase } from './subject.ts';

/** A case of what an answer means; `expected` is the verdict's kind, or more of it. */
export const means = (
  title: string,
  answer: Answer,
  expected: AnswerCase['expected'] | AnswerCase['expected']['kind'],
  count = 1,
): AnswerCase => ({ title, answer, count, expected: typeof expected === 'string' ? { kind: expected } : expected });

export const silence = (reason: NoAnswerReason): Answer => ({ kind: 'no_answer', reason });

const PAGE = '<!DOCTYPE html><html></html>';

/** What is read alike of every platform that `classifyAnswer` reads: silence, web pages, and plain statuses. */
export const commonAnswers: readonly AnswerCase[] = [
  means('no answer in time', silence('timeout'), { kind: 'retry', reason: 'timeout' }),
  means('no connection', silence('connect'), 'retry'),
  means('a connection that broke', silence('reset'), 'retry'),
  means('an address that the guard refuses', silence('address_refused'), 'credentials_broken'),
  means('a page with 200', answered(200, PAGE, { 'content-type': 'text/html' }), 'retry'),
  means('a page with 400', answered(400, '<html></html>'), 'retry'),
  means('400 without words', answered(400, ''), { kind: 'split', reason: 'http_400', isDoubtful: true }),
  means('401 without words', answered(401, ''), { kind: 'credentials_broken', reason: 'http_401' }),
  means('403 without words', answered(403, ''), 'credentials_broken'),
  means('404 without words', answered(404, ''), 'credentials_broken'),
  means('413 without words', answered(413, ''), { kind: 'split', reason: 'http_413' }),
  means('422 without words', answered(422, ''), { kind: 'split', isDoubtful: true }),
  means('429 without words', answered(429, ''), { kind: 'throttle', retryAfterMs: null }),
  means('429 with Retry-After', answered(429, '', { 'retry-after': '7' }), { kind: 'throttle', retryAfterMs: 7_000 }),
  means('500 without words', answered(500, ''), { kind: 'retry', reason: 'http_500' }),
  means('502 without words', answered(502, ''), 'retry'),
  means('503 without words', answered(503, ''), 'retry'),
  means('a redirect', answered(302, ''), 'retry'),
];
