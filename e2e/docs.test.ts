import { FIRST_PAGES, testThatCommandsAreMarked, testThatPagesWork } from './support/guide-pages.js';

/** The other pages: `docs-guides.test.ts`. */
testThatPagesWork(FIRST_PAGES);
testThatCommandsAreMarked();
