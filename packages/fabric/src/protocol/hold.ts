/**
 * Destinations of SENDs with which a relay holds a subscription of its own whose client has enough to read, and lets it
 * go on when there is room again. A relay keeps no events, and one slow client must not make it slow for others.
 *
 *     SEND /muster/hold       subscription, after, receipt   nothing more for now; what was delivered after that position
 *                                                            did not reach the client and is not delivered yet
 *     SEND /muster/release    subscription                   it goes on after that position
 *
 * What comes before the receipt was sent before the subscription was held: the relay drops it.
 */
export const HOLD = '/muster/hold';
export const RELEASE = '/muster/release';
