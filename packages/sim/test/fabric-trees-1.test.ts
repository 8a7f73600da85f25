import { treesHold } from './fabric-support.js';

treesHold(1, 250);
