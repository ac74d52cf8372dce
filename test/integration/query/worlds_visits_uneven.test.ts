import { answersSuite } from './world_answers.ts';

answersSuite('uneven', ['visits', 'revenue']);
