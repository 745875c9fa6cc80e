"""Follows every link of its seeds' hosts, and prints how many pages came."""

import scrapy
from scrapy.linkextractors import LinkExtractor


class Bench(scrapy.Spider):
    name = "bench"
    pages = 0
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "ERROR",
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": 128,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "TELNETCONSOLE_ENABLED": False,
    }

    def __init__(self, seeds, **arguments):
        super().__init__(**arguments)
        with open(seeds) as file:
            self.start_urls = file.read().split()
        self.extractor = LinkExtractor()

    def parse(self, response):
        self.pages += 1
        for link in self.extractor.extract_links(response):
            yield response.follow(link, self.parse)

    def closed(self, reason):
        print(self.pages)
