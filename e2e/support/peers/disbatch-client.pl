#!/usr/bin/perl

# Sends with LWP what the command line of Disbatch sends, and prints what it prints (sheet §5). Our own program: written from that
# description, with the library whose requests the deployed one has. `--dialect 4.4` is the later one; the last one of 4.0 has its `tasks`, too.
# `--ssl_ca_file` and `--disable_ssl_verification` are those of the deployed one. `--version-3` is the deprecated `disbatch.pl`. `--proxied` says that a proxy passes the requests on, so that they count as those of another
# host.

use strict;
use warnings;

use Getopt::Long;
use JSON::PP;
use LWP::UserAgent;

my %given = (url => 'http://localhost:8080', dialect => '4.0', terse => undef, limit => 20, skip => 0);
GetOptions(\%given, 'url|u=s', 'username|n=s', 'password=s', 'dialect=s', 'collection=s', 'count', 'pretty', 'terse!',
    'options=s', 'ssl_ca_file=s', 'disable_ssl_verification', 'proxied', 'version-3', 'fields=s', 'limit=i', 'skip=i', 'epoch', 'full') or exit 2;

my $json = JSON::PP->new->utf8;
my $agent = LWP::UserAgent->new;
$agent->default_header('X-Forwarded-For' => '192.0.2.7') if $given{proxied};
$agent->ssl_opts(SSL_ca_file => $given{ssl_ca_file}) if defined $given{ssl_ca_file};
$agent->ssl_opts(verify_hostname => 0) if $given{disable_ssl_verification} and not defined $given{ssl_ca_file};
my ($url, $later) = ($given{url}, $given{dialect} eq '4.4');

if (defined $given{username} and defined $given{password}) {
    my ($host) = $url =~ m{^https?://([^/]+)};
    $agent->credentials($host, 'disbatch', $given{username}, $given{password});
} elsif (defined $given{username} or defined $given{password}) {
    die "--username and --password must be used together\n";
}

my %commands = (
    plugins => \&plugins, queues => \&queues, status => \&queues, 'create-queue' => \&create_queue,
    'update-queue' => \&update_queue, 'delete-queue' => \&delete_queue, 'create-task' => \&create_task,
    'create-tasks' => \&create_tasks, tasks => \&tasks, ($later ? () : (search => \&search)),
);
%commands = (status => \&old_status, types => \&old_types, start => \&old_start, set => \&old_set,
    task => \&old_task, tasks => \&old_tasks, search => \&old_search) if $given{'version-3'};
my $command = shift @ARGV // exit 1;
my $run = $commands{$command} or die "Unknown command '$command'\n";
$run->(@ARGV);

sub answered {
    my ($doing, $path, $response) = @_;
    my $body = $response->decoded_content(charset => 'none');
    die "Error $doing $url$path (", $response->status_line, "): $body\n" unless $response->is_success;
    return $body;
}

sub decoded { return $json->decode(answered(@_)) }

sub of_type_json { return ('Content-Type' => 'application/json', Content => $json->encode($_[0])) }

sub plugins { print "$_\n" for @{ decoded('getting', '/plugins', $agent->get("$url/plugins")) } }

sub queues {
    my $queues = decoded('getting', '/queues', $agent->get("$url/queues"));
    for my $queue (@$queues) {
        print join(' | ', map { $queue->{$_} // '' } qw(id plugin name threads queued running completed)), "\n";
    }
    print "\n", scalar @$queues, " total queues.\n";
}

sub create_queue {
    my ($name, $plugin) = @_;
    my $made = decoded('posting', '/queues', $agent->post("$url/queues", { name => $name, plugin => $plugin }));
    # Dies on ids of the other dialect, as the deployed one does.
    print "Created queue $name: ", id_in($made->{id}), "\n";
}

sub id_in {
    my ($id) = @_;
    die "an id of the other dialect\n" if $later xor not ref $id;
    return $later ? $id : $id->{'$oid'};
}

sub update_queue {
    my ($queue, @pairs) = @_;
    die "Must pass an even number of arguments as key/value pairs\n" if @pairs % 2;
    my %values = @pairs;
    my $result = decoded('posting', "/queues/$queue", $agent->post("$url/queues/$queue", \%values));
    my $changed = $result->{'MongoDB::UpdateResult'}{modified_count};
    print $changed ? 'Updated' : 'No change to', " queue $queue: ", JSON::PP->new->canonical->encode(\%values), "\n";
}

sub delete_queue {
    my ($queue) = @_;
    my $result = decoded('deleting', "/queues/$queue", $agent->delete("$url/queues/$queue"));
    die "Unknown response\n" unless $result->{'MongoDB::DeleteResult'}{deleted_count} == 1;
    print "Deleted queue $queue\n";
}

sub create_task {
    my ($queue, @pairs) = @_;
    die "Must pass an even number of arguments as key/value pairs\n" if @pairs % 2;
    die "Queue name not given\n" unless defined $queue;
    return create_tasks($queue, $json->encode([{@pairs}]));
}

sub create_tasks {
    my ($queue, $text) = @_;
    die "Queue name not given\n" unless defined $queue;
    my $said = $json->decode($text // '{}');
    my $collection = $given{collection};
    my $path = '/tasks';
    if ($later) {
        $said = defined $collection ? { %$said, collection => $collection, queue => $queue } : { queue => $queue, params => $said };
    } else {
        $path .= "/$queue" . (defined $collection ? "/$collection" : '');
    }
    my $result = decoded('posting', $path, $agent->post("$url$path", of_type_json($said)));
    my @made = @{ $result->{'MongoDB::InsertManyResult'}{inserted} };
    print 'Created ', scalar @made, " tasks in queue $queue\n";
    print id_in($_->{_id}), "\n" for @made;
}

sub search {
    my ($filter) = @_;
    # What is not given is said all the same: as null.
    my $said = { filter => undef, options => undef };
    $said->{filter} = eval { $json->decode($filter) } // die("Invalid filter is not JSON: '$filter'\n") if defined $filter;
    $said->{options} = $json->decode($given{options}) if defined $given{options};
    $said->{count} = $given{count} ? 1 : 0;
    $said->{pretty} = $given{pretty} ? 1 : 0;
    $said->{terse} = ($given{terse} // 1) ? 1 : 0;
    my $body = answered('posting', '/tasks/search', $agent->post("$url/tasks/search", of_type_json($said)));
    print $given{count} ? $json->decode($body)->{count} . " tasks\n" : "$body\n";
}

sub tasks {
    my ($filter) = @_;
    my $said = eval { $json->decode($filter // '{}') } // die("Invalid filter is not a JSON object: '$filter'\n");
    my %options = map { (".$_" => $given{$_} // 0) } qw(count limit skip terse full epoch pretty);
    my $body = answered('getting', '/tasks',
        $agent->get("$url/tasks", of_type_json({ %options, '.fields' => $given{fields}, %$said })));
    print $given{count} ? $json->decode($body)->{count} . " tasks\n" : "$body\n";
}

# --- the deprecated command line: everything but the list of queues is a form, also where it says nothing

sub form { return decoded('posting', "/$_[0]", $agent->post("$url/$_[0]", $_[1] // [])) }

sub old_status {
    my $queues = decoded('getting', '/scheduler-json', $agent->get("$url/scheduler-json"));
    print join(' | ', map { $_ // '' } @$_{qw(id plugin name threads queued running completed)}), "\n" for @$queues;
}

sub old_types {
    my $types = decoded('posting', '/queue-prototypes-json', $agent->post("$url/queue-prototypes-json"));
    print join("\n", sort keys %$types), "\n";
}

sub old_start {
    my ($type, $name) = @_;
    my $made = form('start-queue-json', [type => $type, name => $name]);
    print "New Queue #$made->[1]{'$oid'}\n";
}

sub old_set {
    my ($queue, $attr, $value) = @_;
    my $done = form('set-queue-attr-json', [queueid => $queue, attr => $attr, value => $value]);
    die "$done->{error}\n" unless $done->{success};
}

sub old_task {
    my ($queue, %params) = @_;
    print $json->encode(form('queue-create-tasks-json', [queueid => $queue, object => $json->encode([\%params])])), "\n";
}

sub old_tasks {
    my ($queue, $collection, $filter, $params) = @_;
    print $json->encode(form('queue-create-tasks-from-query-json',
        [queueid => $queue, collection => $collection, jsonfilter => $filter, params => $params])), "\n";
}

sub old_search {
    my ($queue, $filter) = @_;
    print $json->encode(form('search-tasks-json', [queue => $queue, filter => $filter])), "\n";
}
