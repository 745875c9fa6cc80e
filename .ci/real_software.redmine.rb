# Fills Redmine, for `.ci/real_software`: two projects with issues, wikis, boards, news, documents
# and hours, from a file of texts by name.
require 'json'

Setting.cross_project_issue_relations = 1
Setting.default_language = 'en'
Setting.notified_events = []
ActiveJob::Base.queue_adapter = :inline
ActionMailer::Base.perform_deliveries = false

texts = JSON.parse(File.read(ARGV.last)).to_a
draw = Random.new(7)
User.current = User.find_by(login: 'admin')

users = %w[reader writer keeper].map do |name|
  user = User.new(firstname: name.capitalize, lastname: 'Demo', mail: "#{name}@example.org")
  user.login = name
  user.password = user.password_confirmation = 'a-password-for-loopback'
  user.save!
  user
end

projects = %w[library tools].map do |name|
  project = Project.new(name: name.capitalize, identifier: name, is_public: true,
                        description: "All about the #{name} and what is in it.")
  project.enabled_module_names =
    %w[issue_tracking time_tracking news documents files wiki boards calendar gantt]
  project.trackers = Tracker.all
  project.save!
  users.each { |user| Member.create!(project: project, user: user, roles: [Role.givable.first]) }
  %w[one two].each do |number|
    Version.create!(project: project, name: "Release #{number}",
                    description: "What release #{number} of #{name} brings.")
  end
  %w[parsing network].each { |topic| IssueCategory.create!(project: project, name: topic) }
  project
end

issues = []
texts.first(60).each_with_index do |(name, text), number|
  project = projects[number % 2]
  issue = Issue.create!(project: project, tracker: Tracker.all[number % 3],
                        author: users[number % 3], assigned_to: users[(number + 1) % 3],
                        subject: "Look at module #{name}", description: text[0, 1500],
                        priority: IssuePriority.all[number % 4],
                        status: IssueStatus.all[number % 4],
                        category: project.issue_categories[number % 2],
                        fixed_version: project.versions[number % 2])
  issue = Issue.find(issue.id)
  issue.init_journal(users[(number + 2) % 3], "A note about #{name}: #{text[-300, 300]}")
  issue.done_ratio = 10 * (number % 9)
  issue.save!
  issues << issue
  next unless number > 3 && number % 4 == 0

  IssueRelation.create!(issue_from: issue.reload, issue_to: issues[draw.rand(number)].reload,
                        relation_type: 'relates')
end

texts[60, 40].each_with_index do |(name, text), number|
  page = WikiPage.new(wiki: projects[number % 2].wiki, title: "Module_#{name}")
  others = texts[60, 40].select.with_index { |_, at| at % 2 == number % 2 }
  links = others.sample(4, random: draw).map { |other, _| "[[Module #{other}]]" }.join(' ')
  page.content = WikiContent.new(page: page, author: users[number % 3],
                                 text: "h1. Module #{name}\n\n#{text[0, 2500]}\n\n#{links}")
  page.save_with_content(page.content)
  next unless number % 3 == 0

  page.content.text += "\n\nIt is in the standard library, was looked at again, and found to be " \
                       'as good as it had been said to be.'
  page.save_with_content(page.content)
end

projects.each do |project|
  start = WikiPage.new(wiki: project.wiki, title: 'Wiki')
  pages = project.wiki.pages.map { |page| "* [[#{page.title}]]" }.join("\n")
  start.content = WikiContent.new(page: start, author: users[0],
                                  text: "h1. #{project.name}\n\n#{pages}")
  start.save_with_content(start.content)
  board = Board.create!(project: project, name: 'Talk',
                        description: "Where #{project.name} is talked about.")
  texts[100, 16].each_with_index do |(name, text), number|
    topic = Message.create!(board: board, author: users[number % 3], content: text[0, 900],
                            subject: "About #{name} in #{project.name}")
    2.times do |reply|
      said = text[900 + 400 * reply, 400] || "no more of #{name}, #{reply}"
      Message.create!(board: board, parent: topic, author: users[(number + reply) % 3],
                      subject: "RE: About #{name}", content: said)
    end
  end
  texts[120, 12].each_with_index do |(name, text), number|
    News.create!(project: project, author: users[number % 3], summary: "#{name} came",
                 title: "#{name} is new in #{project.name}", description: text[0, 800])
  end
  texts[132, 6].each do |name, text|
    Document.create!(project: project, category: DocumentCategory.first,
                     title: "Papers on #{name} (#{project.name})", description: text[0, 800])
  end
  project.issues.first(10).each_with_index do |issue, number|
    user = users[number % 3]
    TimeEntry.create!(project: project, issue: issue, user: user, author: user,
                      hours: number + 1, activity: TimeEntryActivity.first,
                      spent_on: Date.new(2026, 3, 1 + number),
                      comments: "worked on #{issue.subject}")
  end
end
